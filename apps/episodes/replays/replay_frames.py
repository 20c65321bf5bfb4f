"""The turns of an episode as a replay shows them: the picture and the record of each, from one viewpoint.

They are played again from seed and actions; those of a slow environment come from the states that they kept. Where no
picture can be drawn, words take its place.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from apps.episodes.errors import Outdated
from apps.episodes.models import Episode, Turn
from apps.episodes.restore import actions, infos, restore_kept
from apps.episodes.visibility import conceal
from gem import replay
from gem.errors import GemError
from gem.records import Identity
from gem.seats import SPECTATOR, rewards
from gem.views import ChatView, Message, TextView, View

logger = logging.getLogger(__name__)

RECITED = 20
"""Turns that are told where a board cannot be drawn."""


@dataclass(frozen=True, slots=True)
class ReplayFrame:
    """One turn of a replay: its picture and its record (None for the reset)."""

    number: int
    view: View
    turn: Turn | None
    total: float | None
    """The reward of the seat that sees this up to here; None for those who watch."""
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


def replay_frames(episode: Episode, first: int, last: int, viewpoint: int) -> list[ReplayFrame]:
    """The turns `first` to `last` (0 is the reset), re-executed from seed and actions, as `viewpoint` may see them."""
    turns = {turn.number: turn for turn in episode.turns.filter(number__lte=last)}
    sealed = episode.sealed
    total = None if viewpoint == SPECTATOR else 0.0
    found = []
    long = episode.slow and not episode.on_record
    views = _kept_views(episode, first, last, viewpoint) if long else _views(episode, last, viewpoint)
    for number, view in enumerate(views):
        turn = turns.get(number)
        if turn and total is not None:
            total += rewards(turn.reward, turn.info)[viewpoint]
        if number >= first and view is not None:
            seen = conceal(turn, viewpoint, sealed=sealed) if turn else None
            found.append(ReplayFrame(number, view, seen, total, episode.turn_count))
    return found


def _kept_views(episode: Episode, first: int, last: int, viewpoint: int) -> Iterator[View | None]:
    """The same of a slow environment, from the states that its turns kept; None before `first`."""
    kept = dict(episode.turns.filter(number__range=(first, last)).values_list("number", "state"))
    yield from [None] * first
    for number in range(first, last + 1):
        try:
            yield restore_kept(episode, number, kept.get(number)).view(viewpoint)
        except (GemError, Outdated) as error:
            yield record_in_words(episode, number) or no_board(episode, str(error))


def _views(episode: Episode, last: int, viewpoint: int) -> Iterator[View]:
    """The picture after the reset and after each turn up to `last`; words from where it cannot be drawn."""
    drawn = 0
    try:
        identity = Identity(**episode.identity())
        for frame in replay.frames(identity, actions(episode)[:last], infos(episode), seat=viewpoint):
            drawn = frame.turn + 1
            yield frame.view
    except GemError as error:
        logger.warning("Episode %s cannot be drawn from turn %s on: %s", episode.id, drawn, error)
        for _ in range(drawn, last + 1):
            yield no_board(episode, str(error))


def record_in_words(episode: Episode, number: int) -> ChatView | None:
    """What was said up to a turn whose state nobody kept, such as those of jobs; None for the reset."""
    latest = list(episode.turns.filter(number__lte=number).order_by("-number")[:RECITED])[::-1]
    messages = []
    for turn in latest:
        messages += [
            Message(who=f"Turn {turn.number}", side="own", text=turn.action),
            Message(who="Observation", side="tool", text=turn.observation),
        ]
    return ChatView(kind="chat", name=f"{episode.env_id} in words", messages=messages) if messages else None


def no_board(episode: Episode, reason: str) -> TextView:
    """The sentence that stands where a board cannot be drawn."""
    return TextView(kind="text", name=f"{episode.env_id} in words", text=f"The board cannot be drawn. {reason}")
