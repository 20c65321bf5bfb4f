"""An agent that plays valid actions at random: the floor of every benchmark."""

from collections.abc import Sequence

from gem.agents.agent import Decision, Request


class RandomAgent:
    """Asks each environment for one of its valid actions."""

    name = "random"

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """As `Agent.act`."""
        return [Decision(_draw(request)) for request in requests]


def _draw(request: Request) -> str:
    """The first random action in the first try at a seed, the second in the second: else all tries would be one."""
    for _ in range(request.repeat):
        request.env.sample_random_action()
    return request.env.sample_random_action()
