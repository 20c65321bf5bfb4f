"""An agent that plays valid actions at random, the lower baseline of every benchmark."""

from collections.abc import Sequence

from gem.agents.agent import Decision, Request


class RandomAgent:
    """Plays a random valid action, which the environment draws."""

    name = "random"

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """See `Agent.act`."""
        return [Decision(_draw(request)) for request in requests]


def _draw(request: Request) -> str:
    """Draw an action; try n at a seed takes the n-th draw, because otherwise all tries would be the same."""
    if request.repeat:
        request.env.skip_random_actions(request.repeat)
    return request.env.sample_random_action()
