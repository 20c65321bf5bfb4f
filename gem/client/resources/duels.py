"""Duels: several episodes side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from gem.client.events import Event
from gem.client.request import Events, Request, Resource, iterates, sends
from gem.client.resources.following import events_of, place
from gem.client.schemas import Duel, NewDuel, NewPlayer, Steering, VisibilityChoice
from gem.client.schemas.base import Visibility
from gem.client.schemas.episodes import Control

R_co = TypeVar("R_co", covariant=True)


class Duels(Resource[R_co]):
    """Duels: two to four episodes with the same environment and seed, side by side."""

    @sends
    def start(
        self,
        env_id: str,
        agents: Sequence[str],
        *,
        plays: bool = False,
        seed: int | None = None,
        pace: float = 1.0,
        lock_step: bool = True,
        visibility: Visibility | None = None,
    ) -> Request[Duel]:
        """Start a duel; the agents play at once.

        Args:
            env_id: the environment.
            agents: the slugs of the agents, from left to right.
            plays: whether one plays too, on the left.
            seed: drawn if it is None.
            pace: seconds between two turns.
            lock_step: whether nobody takes a turn until the others have taken as many.
            visibility: who may see it; by default what the account says.
        """
        content = NewDuel(
            env_id=env_id,
            agents=[*agents],
            plays=plays,
            seed=seed,
            pace=pace,
            lock_step=lock_step,
            visibility=visibility,
        )
        return Request("POST", "duels", Duel, content=content, keyed=True)

    @sends
    def get(self, duel_id: str) -> Request[Duel]:
        """Return a duel with its episodes."""
        return Request("GET", place("duels", duel_id), Duel)

    @iterates
    def events(self, duel_id: str, *, after: int | None = None) -> Events[Event]:
        """Iterate over the events of a duel: first its history, then what happens, until all episodes are over."""
        return events_of(place("duels", duel_id), after)

    @sends
    def add(self, duel_id: str, agent: str) -> Request[Duel]:
        """Let another agent play the same seed."""
        content = NewPlayer(agent=agent)
        return Request("POST", f"{place('duels', duel_id)}/agents", Duel, content=content, keyed=True)

    @sends
    def control(self, duel_id: str, do: Control, *, pace: float | None = None) -> Request[Duel]:
        """Pause, resume or stop all agents of a duel, change their pace, or let them keep step."""
        content = Steering(do=do, pace=pace)
        return Request("POST", f"{place('duels', duel_id)}/control", Duel, content=content, keyed=True)

    @sends
    def set_visibility(self, duel_id: str, visibility: Visibility) -> Request[Duel]:
        """Change who may see a duel and all its episodes."""
        content = VisibilityChoice(visibility=visibility)
        return Request("PUT", f"{place('duels', duel_id)}/visibility", Duel, content=content)
