"""An episode as a page shows it: the picture, the turns and what an agent reads.

A page, the answer to a turn and the live events are drawn from the same snapshot.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from apps.episodes.errors import Outdated
from apps.episodes.models import Episode, Seat, Turn
from apps.episodes.operations import actions, infos, restore
from gem import replay
from gem.agents import has_expert
from gem.errors import GemError, UnknownEnvironment
from gem.views import TextView, View

logger = logging.getLogger(__name__)

HISTORY = 60
"""Turns that a live page lists; the replay has all."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What there is to see of an episode after its last turn."""

    episode: Episode
    seats: list[Seat]
    view: View
    turns: list[Turn]
    """The newest first, at most `HISTORY`."""

    @property
    def seat(self) -> Seat:
        """The seat that acts."""
        return self.seats[0]

    @property
    def latest(self) -> Turn | None:
        """The last turn; None after a reset."""
        return self.turns[0] if self.turns else None

    @property
    def observation(self) -> str:
        """The environment's last words."""
        return self.latest.observation if self.latest else self.episode.first_observation

    @property
    def info(self) -> dict[str, Any]:
        """What came with them."""
        info: dict[str, Any] = self.latest.info if self.latest else self.episode.first_info
        return info

    @property
    def prompt(self) -> str:
        """What an agent reads before it acts: the observation and the suffix."""
        return "\n\n".join(part for part in (self.observation, str(self.info.get("suffix", ""))) if part)

    @property
    def turn_now(self) -> int:
        """The number of the turn to play, or of the last one if the episode is over."""
        return self.episode.turn_count + (not self.episode.over)

    @property
    def paused(self) -> bool:
        """Whether the agent that plays it live waits."""
        show = getattr(self.episode, "show", None)
        return bool(show and show.paused)

    @property
    def pace(self) -> float | None:
        """Seconds from one of the agent's turns to the next, while it plays live."""
        show = getattr(self.episode, "show", None)
        return show.pace if show else None

    @property
    def expert(self) -> bool:
        """Whether there is an expert to ask and to watch."""
        try:
            return has_expert(self.episode.env_id)
        except UnknownEnvironment:
            return False

    def since(self, seq: int) -> list[Turn]:
        """The turns played after the episode had reached `seq`, the newest first."""
        return [turn for turn in self.turns if turn.seq is not None and turn.seq > seq]

    @property
    def omitted(self) -> int:
        """How many early turns are not in `turns`."""
        return max(0, self.episode.turn_count - len(self.turns))


@dataclass(frozen=True, slots=True)
class Moment:
    """One turn of a replay: its picture and its record (None for the reset)."""

    number: int
    view: View
    turn: Turn | None
    total: float
    """The reward up to here."""
    last: int
    """The last turn of the episode."""

    @property
    def before(self) -> int:
        """The turn before, or the first."""
        return max(0, self.number - 1)

    @property
    def after(self) -> int:
        """The next turn, or the last."""
        return min(self.last, self.number + 1)


def snapshot(episode: Episode) -> Snapshot:
    """The episode now."""
    return Snapshot(
        episode=episode,
        seats=list(episode.seats.select_related("agent", "user").order_by("number")),
        view=picture(episode),
        turns=list(episode.turns.order_by("-number")[:HISTORY]),
    )


def picture(episode: Episode) -> View:
    """The board after the last turn, as seat 0 sees it; text where it can no longer be drawn."""
    try:
        return restore(episode).view()
    except Outdated as error:
        return _words(episode, str(error))


def moments(episode: Episode, first: int, last: int) -> list[Moment]:
    """The turns `first` to `last` (0 is the reset), re-executed from seed and actions."""
    turns = {turn.number: turn for turn in episode.turns.filter(number__lte=last)}
    total = 0.0
    found = []
    for number, view in enumerate(_views(episode, last)):
        turn = turns.get(number)
        total += turn.reward if turn else 0.0
        if number >= first:
            found.append(Moment(number, view, turn, total, episode.turn_count))
    return found


def _views(episode: Episode, last: int) -> Iterator[View]:
    """The picture after the reset and after each turn up to `last`; words from where it cannot be drawn."""
    drawn = 0
    try:
        identity = replay.Identity(**episode.identity())
        for frame in replay.frames(identity, actions(episode)[:last], infos(episode)):
            drawn = frame.turn + 1
            yield frame.view
    except GemError as error:
        logger.warning("Episode %s cannot be drawn from turn %s on: %s", episode.id, drawn, error)
        for _ in range(drawn, last + 1):
            yield _words(episode, str(error))


def _words(episode: Episode, reason: str) -> TextView:
    return TextView(kind="text", name=f"{episode.env_id} in words", text=f"The board cannot be drawn. {reason}")
