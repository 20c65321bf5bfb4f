"""Experts: one scripted solver for each game, which plays as well as the rules allow without seeing what is hidden.

A solver is a function from an environment to a decision. It reads the environment's view and the public attributes
that the board shows; the contract tests change what is hidden and expect the same decision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gem import registry
from gem.agents.agent import Decision, Request
from gem.agents.experts.guess_the_number import halve
from gem.agents.experts.minesweeper import deduce
from gem.agents.experts.sokoban import plan_ahead
from gem.errors import InvalidArgument

Solver = Callable[[Any], Decision]

EXPERTS: Mapping[str, Solver] = {
    "game:GuessTheNumber": halve,
    "game:Minesweeper": deduce,
    "game:Sokoban": plan_ahead,
}
"""Category and family to solver. A new one adds a line here."""


def has_expert(env_id: str) -> bool:
    """Whether an expert plays this environment.

    Raises:
        UnknownEnvironment: if no such id is registered.
    """
    return _key(registry.spec(env_id)) in EXPERTS


class ExpertAgent:
    """Plays each environment with its solver."""

    name = "expert"

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """As `Agent.act`.

        Raises:
            InvalidArgument: if there is no expert for one of the environments.
        """
        return [self._decide(request) for request in requests]

    def _decide(self, request: Request) -> Decision:
        env = request.env.unwrapped
        solve = None if env.spec is None else EXPERTS.get(_key(env.spec))
        if solve is None:
            name = type(env).__name__ if env.spec is None else env.spec.id
            raise InvalidArgument(f"There is no expert for {name}.")
        return solve(env)


def _key(spec: registry.EnvSpec) -> str:
    return f"{spec.category}:{spec.family}"
