"""An agent that plays valid actions at random: the floor of every benchmark."""

from collections.abc import Sequence

from gem.agents.agent import Decision, Request


class RandomAgent:
    """Asks each environment for one of its valid actions."""

    name = "random"

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """As `Agent.act`."""
        return [Decision(request.env.sample_random_action()) for request in requests]
