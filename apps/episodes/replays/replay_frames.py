"""The turns of an episode as a replay shows them: the board and the record of each turn, from one viewpoint.

The turns are replayed from seed and actions. For slow environments, the boards come from states stored with the turns.
Text replaces a board that cannot be drawn.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from apps.episodes.errors import Outdated
from apps.episodes.models import Episode, Turn
from apps.episodes.restore import actions, infos, restore_from_state
from apps.episodes.visibility import conceal
from gem import replay
from gem.errors import GemError
from gem.records import Identity
from gem.seats import SPECTATOR, rewards
from gem.views import ChatView, Message, TextView, View

logger = logging.getLogger(__name__)

MAX_TURNS_IN_WORDS = 20
"""The number of turns shown as text where a board cannot be drawn."""


@dataclass(frozen=True, slots=True)
class ReplayFrame:
    """One turn of a replay: its board and its record (None for the reset)."""

    number: int
    view: View
    turn: Turn | None
    total: float | None
    """The total reward of the viewing seat up to this turn; None for spectators."""
    last: int
    """The number of the episode's last turn."""

    @property
    def before(self) -> int:
        """The number of the turn before; the reset has none and stays 0."""
        return max(0, self.number - 1)

    @property
    def after(self) -> int:
        """The number of the next turn, or of the last one."""
        return min(self.last, self.number + 1)


def replay_frames(episode: Episode, first: int, last: int, viewpoint: int) -> list[ReplayFrame]:
    """The turns `first` to `last` (0 is the reset), replayed from seed and actions, as `viewpoint` may see them."""
    turns = {turn.number: turn for turn in episode.turns.filter(number__range=(first, last))}
    sealed = episode.sealed
    total = None if viewpoint == SPECTATOR else _return_before(episode, first, viewpoint)
    shown = []
    views = (
        _views_from_states(episode, first, last, viewpoint)
        if _has_to_use_states(episode, last)
        else _views(episode, first, last, viewpoint)
    )
    for number, view in enumerate(views, start=first):
        turn = turns.get(number)
        if turn and total is not None:
            total += rewards(turn.reward, turn.info)[viewpoint]
        visible_turn = conceal(turn, viewpoint, sealed=sealed) if turn else None
        shown.append(ReplayFrame(number, view, visible_turn, total, episode.turn_count))
    return shown


def _return_before(episode: Episode, first: int, seat: int) -> float:
    """The sum of the seat's rewards before a turn."""
    earlier = episode.turns.filter(number__lt=first).order_by("number").values_list("reward", "info")
    return sum((rewards(reward, info)[seat] for reward, info in earlier), 0.0)


def _has_to_use_states(episode: Episode, last: int) -> bool:
    """Whether the boards come from states: where a replay takes long, or may take long and there is a choice."""
    if not episode.slow:
        return False
    if not episode.on_record:
        return True
    return episode.spec.replay == "exact" and not episode.turns.filter(number__lte=last, state__isnull=True).exists()


def _views_from_states(episode: Episode, first: int, last: int, viewpoint: int) -> Iterator[View]:
    """The boards of a slow environment, from the states stored with its turns."""
    states = dict(episode.turns.filter(number__range=(first, last)).values_list("number", "state"))
    for number in range(first, last + 1):
        try:
            yield restore_from_state(episode, number, states.get(number)).view(viewpoint)
        except (GemError, Outdated) as error:
            yield record_in_words(episode, number) or no_board(episode, str(error))


def _views(episode: Episode, first: int, last: int, viewpoint: int) -> Iterator[View]:
    """The boards after the turns from `first` (0 is the reset) to `last`; text from where they cannot be drawn."""
    first_missing = first
    try:
        identity = Identity(**episode.identity())
        for frame in replay.frames(identity, actions(episode)[:last], infos(episode), seat=viewpoint, first=first):
            first_missing = frame.turn + 1
            yield frame.view
    except GemError as error:
        logger.warning("Episode %s cannot be drawn from turn %s on: %s", episode.id, first_missing, error)
        for _ in range(first_missing, last + 1):
            yield no_board(episode, str(error))


def record_in_words(episode: Episode, number: int) -> ChatView | None:
    """The actions and observations up to a turn that has no stored state, as a chat; None for the reset."""
    latest = list(episode.turns.filter(number__lte=number).order_by("-number")[:MAX_TURNS_IN_WORDS])[::-1]
    messages = []
    for turn in latest:
        messages += [
            Message(who=f"Turn {turn.number}", side="own", text=turn.action),
            Message(who="Observation", side="tool", text=turn.observation),
        ]
    return ChatView(kind="chat", name=f"{episode.env_id} in words", messages=messages) if messages else None


def no_board(episode: Episode, reason: str) -> TextView:
    """A text view that says why the board cannot be drawn."""
    return TextView(kind="text", name=f"{episode.env_id} in words", text=f"The board cannot be drawn. {reason}")
