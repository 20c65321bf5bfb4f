"""An agent that plays given actions."""

from collections.abc import Sequence

from gem.agents import Decision, Request


class Script:
    """Takes the n-th action in the n-th turn."""

    name = "script"

    def __init__(self, *actions: str) -> None:
        self.actions = actions

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """As `Agent.act`."""
        return [Decision(self.actions[request.turn - 1]) for request in requests]
