"""Playing: turns of people, and live episodes of agents. Begin with `operations.take_turn`."""
