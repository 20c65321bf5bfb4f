"""Playing: what people do in episodes, and what agents play live. Begin with `operations.take_turn`."""
