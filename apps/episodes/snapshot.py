"""An episode as a page shows it now: the picture, the turns and what an agent reads.

A page, the answer to a turn and the live events are drawn from the same snapshot; a replay from `replay_frames`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import BigIntegerField, FloatField, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.utils import timezone

from apps.agents.models import Agent
from apps.episodes.errors import Outdated
from apps.episodes.models import Episode, PendingTurn, Seat, Turn
from apps.episodes.replays.replay_frames import no_board, record_in_words
from apps.episodes.restore import restore
from apps.episodes.text import example_in
from apps.episodes.visibility import conceal, open_info, public_viewpoint
from gem.agents import has_expert
from gem.errors import UnknownEnvironment
from gem.seats import SPECTATOR, observation_for_seat
from gem.views import View, without_actions

HISTORY = 60
"""Turns that a live page lists; the replay has all."""
IDLE_SECONDS = 60
"""Without a turn for so long, a person's episode is waiting for its player and not live."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What there is to see of an episode after its last turn, from one viewpoint."""

    episode: Episode
    seats: list[Seat]
    view: View
    turns: list[Turn]
    """The newest first, as many as were asked for; what this viewpoint may not know is not in them."""
    viewpoint: int
    """The seat that sees this, or `gem.seats.SPECTATOR`."""
    sealed: bool
    """Whether the seats still have secrets from one another."""
    to_act: tuple[int, ...]
    """The seats that are awaited: several where all act at the same time."""
    pending: PendingTurn | None = None
    """A turn that was accepted and that a worker has yet to play, or could not play."""

    @property
    def underway(self) -> bool:
        """Whether a worker plays a turn, or will in a moment."""
        return self.pending is not None and not self.pending.problem

    @property
    def failed(self) -> PendingTurn | None:
        """The turn that could not be played, if its player sees this."""
        theirs = self.pending is not None and self.pending.seat == self.viewpoint
        return self.pending if theirs and not self.underway else None

    @property
    def seat(self) -> Seat:
        """The seat that acts, or acted when it ended."""
        return self.seats[self.episode.acting]

    @property
    def standings(self) -> list[Standing]:
        """The seats, as they are shown beside one another; none where there is only one."""
        return [self._standing(seat) for seat in self.seats] if len(self.seats) > 1 else []

    def _standing(self, seat: Seat) -> Standing:
        own = seat.number == self.viewpoint
        known = own or not self.sealed
        return Standing(seat, own, seat.number in self.to_act, bool(seat.held), seat.total_reward if known else None)

    @property
    def yours(self) -> bool:
        """Whether it is the turn of the seat that sees this."""
        return self.viewpoint in self.to_act

    @property
    def has_chosen(self) -> bool:
        """Whether the seat that sees this has acted in a round that waits for others."""
        return self.viewpoint != SPECTATOR and bool(self.seats[self.viewpoint].held)

    @property
    def among_agents(self) -> bool:
        """Whether agents have all seats but the one that sees this: nobody is wronged by a hint or an undo."""
        return all(seat.agent.kind != Agent.Kind.HUMAN for seat in self.seats if seat.number != self.viewpoint)

    @property
    def awaited(self) -> str:
        """Whose turn it is, in words that tell the seats apart: "Waiting for expert"."""
        if len(self.to_act) > 1:
            return "Both are choosing" if len(self.seats) == 2 else "All are choosing"
        seat = self.seats[self.to_act[0]] if self.to_act else self.seat
        same = [other for other in self.seats if other.agent.name == seat.agent.name]
        if len(same) > 1:
            return f"Waiting for the {seat.ordinal} seat"
        return "Waiting for a person" if seat.agent.kind == Agent.Kind.HUMAN else f"Waiting for {seat.agent.name}"

    @property
    def seat_won(self) -> bool:
        """Whether it was a success for the seat that sees this, or for any where nobody's is seen."""
        return any(seat.success for seat in self.seats if self.viewpoint in (SPECTATOR, seat.number))

    @property
    def seat_lost(self) -> bool:
        """Whether it was a success for others only."""
        return not self.seat_won and any(seat.success for seat in self.seats)

    @property
    def answer(self) -> str:
        """What came of the last turn: for who took it, what that seat was told."""
        if self.latest is None:
            return ""
        return self.observation if self.latest.seat == self.viewpoint else self.latest.observation

    @property
    def rival(self) -> str:
        """The form's name for whom the seat that sees this plays against; empty where there is one seat."""
        others = [seat.agent for seat in self.seats if seat.number != max(self.viewpoint, 0)]
        if not others:
            return ""
        return "person" if others[0].kind == Agent.Kind.HUMAN else others[0].slug

    @property
    def free(self) -> Seat | None:
        """A seat that waits for a person."""
        return None if self.episode.over else next((seat for seat in self.seats if seat.is_free), None)

    @property
    def latest(self) -> Turn | None:
        """The last turn; None after a reset."""
        return self.turns[0] if self.turns else None

    @property
    def observation(self) -> str:
        """The environment's last words, as this viewpoint reads them."""
        return self._reading[0]

    @property
    def info(self) -> dict[str, Any]:
        """What came with them."""
        return self._reading[1]

    @property
    def _reading(self) -> tuple[str, dict[str, Any]]:
        observation = self.latest.observation if self.latest else self.episode.first_observation
        info = self.latest.info if self.latest else self.episode.first_info
        info = open_info(info, self.viewpoint, sealed=self.sealed)
        return (
            (observation, info)
            if self.viewpoint == SPECTATOR
            else observation_for_seat(self.viewpoint, observation, info)
        )

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
    def trouble(self) -> str:
        """Why it paused by itself, in a sentence; empty if it did not."""
        show = getattr(self.episode, "show", None)
        return show.trouble if show and not self.episode.over else ""

    @property
    def spent(self) -> Spent | None:
        """What the endpoint agents in it spent so far; None if there are none, or while that is not to be known."""
        if self.sealed or all(seat.agent.kind != Agent.Kind.ENDPOINT for seat in self.seats):
            return None
        return spent(self.episode)

    @property
    def pace(self) -> float | None:
        """Seconds from one of the agent's turns to the next, while it plays live."""
        show = getattr(self.episode, "show", None)
        return show.pace if show else None

    @property
    def idle_after(self) -> int | None:
        """Seconds without a turn after which it is not called live; None where agents play all the time."""
        waits_for_person = self.free is not None or any(self._is_person(number) for number in self.to_act)
        return IDLE_SECONDS if waits_for_person and not self.episode.over else None

    def _is_person(self, number: int) -> bool:
        return self.seats[number].agent.kind == Agent.Kind.HUMAN

    @property
    def waiting(self) -> str:
        """Whom it waits for, once it waits."""
        if self.free is not None:
            return f"the {self.free.ordinal} seat is free"
        return "waiting for the player" if len(self.seats) == 1 else "waiting for a player"

    @property
    def idle(self) -> str:
        """Why nothing happens in it, in a few words; empty while something does, and when it is over."""
        if self.paused:
            return "paused"
        if self.idle_after is None:
            return ""
        since = self.latest.created if self.latest else self.episode.created
        return self.waiting if (timezone.now() - since).total_seconds() > self.idle_after else ""

    @property
    def example(self) -> str:
        """An action as this environment's first words show it: the one called an example, or the first."""
        return example_in(
            observation_for_seat(max(self.viewpoint, 0), self.episode.first_observation, self.episode.first_info)[0]
        )

    @property
    def expert(self) -> bool:
        """Whether there is an expert to ask and to watch."""
        try:
            return has_expert(self.episode.env_id)
        except UnknownEnvironment:
            return False

    @property
    def helps(self) -> bool:
        """Whether the expert may be asked by whoever sees this: not where it would help against somebody else."""
        return not self.episode.in_duel and self.expert and self.viewpoint != SPECTATOR and self.among_agents

    def since(self, seq: int) -> list[Turn]:
        """The turns played after the episode had reached `seq`, the newest first."""
        return [turn for turn in self.turns if turn.seq is not None and turn.seq > seq]

    @property
    def omitted(self) -> int:
        """How many early turns are not in `turns`."""
        return max(0, self.episode.turn_count - len(self.turns))


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens and seconds of all turns together."""

    tokens: int
    seconds: float


def spent(episode: Episode) -> Spent:
    """What the turns of an episode took, as far as their agents counted it."""
    sums = episode.turns.order_by().aggregate(
        tokens_in=Sum(Cast(KT("extra__tokens_in"), BigIntegerField())),
        tokens_out=Sum(Cast(KT("extra__tokens_out"), BigIntegerField())),
        seconds=Sum(Cast(KT("extra__seconds"), FloatField())),
    )
    return Spent((sums["tokens_in"] or 0) + (sums["tokens_out"] or 0), sums["seconds"] or 0.0)


def is_contest(seats: Sequence[Seat]) -> bool:
    """Whether what one seat got the others lost."""
    return abs(sum(seat.total_reward for seat in seats)) < _NOTHING


_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class Standing:
    """A seat on a page: who sits in it and how it stands."""

    seat: Seat
    own: bool
    acts: bool
    chosen: bool
    """It has acted in a round that waits for others."""
    total: float | None
    """What it has earned; None while that is hidden."""


def snapshot(episode: Episode, viewpoint: int, history: int = HISTORY) -> Snapshot:
    """The episode now, as `viewpoint` may see it: a seat, or `gem.seats.SPECTATOR`; with so many of its last turns."""
    sealed = episode.sealed
    seats = list(episode.seats.select_related("agent", "user").order_by("number"))
    view, to_act = _now(episode, viewpoint)
    if viewpoint != SPECTATOR and seats[viewpoint].held:
        view = without_actions(view)
    return Snapshot(
        episode=episode,
        seats=seats,
        view=view,
        turns=[conceal(turn, viewpoint, sealed=sealed) for turn in episode.turns.order_by("-number")[:history]],
        viewpoint=viewpoint,
        sealed=sealed,
        to_act=tuple(number for number in to_act if not seats[number].held),
        pending=PendingTurn.objects.filter(episode=episode).first() if episode.slow else None,
    )


def public_snapshot(episode: Episode, history: int = HISTORY) -> Snapshot:
    """The episode now, as those see it who only watch."""
    return snapshot(episode, public_viewpoint(episode), history)


def _now(episode: Episode, viewpoint: int) -> tuple[View, tuple[int, ...]]:
    """The board after the last turn, as `viewpoint` sees it, and who is awaited; text where it cannot be drawn."""
    try:
        env = restore(episode)
    except Outdated as error:
        told = record_in_words(episode, episode.turn_count) if episode.slow else None
        return told or no_board(episode, str(error)), () if episode.over else (episode.acting,)
    return env.view(viewpoint), () if episode.over else env.to_act
