"""An episode as a page shows it now: the board, the turns and what an agent reads.

Pages, responses to turns and live events are all drawn from a snapshot; replays are drawn from `replay_frames`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import BigIntegerField, F, FloatField, Sum
from django.db.models.fields.json import KT
from django.db.models.functions import Cast
from django.utils import timezone

import gem
from apps.agents.models import Agent
from apps.episodes.errors import Outdated
from apps.episodes.handovers import lines_of
from apps.episodes.models import Episode, Handover, PendingTurn, Seat, Turn
from apps.episodes.replays.replay_frames import no_board, record_in_words
from apps.episodes.restore import restore
from apps.episodes.text import example_in
from apps.episodes.visibility import conceal, open_info, public_viewpoint
from gem.agents import has_expert
from gem.errors import UnknownEnvironment
from gem.seats import SPECTATOR, observation_for_seat
from gem.views import View, without_actions

HISTORY = 60
"""The number of turns that a live page lists. The replay lists all."""
IDLE_SECONDS = 60
"""After so long without a turn, the episode of a person counts as waiting instead of live."""


@dataclass(frozen=True)
class Snapshot:
    """An episode after its last turn, as one viewpoint may see it."""

    episode: Episode
    seats: list[Seat]
    view: View
    turns: list[Turn]
    """The requested number of turns, newest first, without what this viewpoint may not see."""
    viewpoint: int
    """The viewing seat, or `gem.seats.SPECTATOR`."""
    sealed: bool
    """Whether the seats still have secrets from one another."""
    to_act: tuple[int, ...]
    """The seats to act: several if all choose at the same time."""
    pending: PendingTurn | None = None
    """An accepted turn that a worker has still to play, or could not play."""
    env: gem.Env | None = None
    """The environment, which nobody steps; None if it cannot be restored."""

    @property
    def underway(self) -> bool:
        """Whether a worker plays a turn now, or will soon."""
        return self.pending is not None and not self.pending.problem

    @property
    def may_wait(self) -> bool:
        """Whether no worker has claimed the next turn yet, so that it may have a place in the queue."""
        if self.pending is not None:
            return self.underway and self.pending.lease_token is None
        show = getattr(self.episode, "show", None)
        is_due = show is not None and show.lease_token is None and not (show.paused or self.episode.over)
        return is_due and not any(self._is_person(number) for number in self.to_act)

    @property
    def failed(self) -> PendingTurn | None:
        """The turn that could not be played; None for everybody but its player."""
        is_own = self.pending is not None and self.pending.seat == self.viewpoint
        return self.pending if is_own and not self.underway else None

    @property
    def seat(self) -> Seat:
        """The seat to act, or the last one that acted."""
        return self.seats[self.episode.acting]

    @property
    def standings(self) -> list[Standing]:
        """The seats with their rewards; empty if there is only one seat."""
        return [self._standing(seat) for seat in self.seats] if len(self.seats) > 1 else []

    def _standing(self, seat: Seat) -> Standing:
        is_own = seat.number == self.viewpoint
        visible = is_own or not self.sealed
        return Standing(
            seat, is_own, seat.number in self.to_act, bool(seat.held), seat.total_reward if visible else None
        )

    @property
    def yours(self) -> bool:
        """Whether it is the turn of the viewing seat."""
        return self.viewpoint in self.to_act

    @property
    def has_chosen(self) -> bool:
        """Whether the viewing seat has chosen in a round that waits for others."""
        return self.viewpoint != SPECTATOR and bool(self.seats[self.viewpoint].held)

    @property
    def among_agents(self) -> bool:
        """Whether agents have all other seats, so that a hint or an undo is unfair to nobody."""
        return all(seat.agent.kind != Agent.Kind.HUMAN for seat in self.seats if seat.number != self.viewpoint)

    @property
    def awaited(self) -> str:
        """Whose turn it is, in words that tell the seats apart: "Waiting for expert"."""
        if len(self.to_act) > 1:
            return "Both are choosing" if len(self.seats) == 2 else "All are choosing"
        seat = self.seats[self.to_act[0]] if self.to_act else self.seat
        namesakes = [other for other in self.seats if other.agent.name == seat.agent.name]
        if len(namesakes) > 1:
            return f"Waiting for the {seat.ordinal} seat"
        return "Waiting for a person" if seat.is_persons else f"Waiting for {seat.agent.name}"

    @property
    def seat_won(self) -> bool:
        """Whether the viewing seat succeeded; for spectators, whether any seat did."""
        return any(seat.success for seat in self.seats if self.viewpoint in (SPECTATOR, seat.number))

    @property
    def seat_lost(self) -> bool:
        """Whether only other seats succeeded."""
        return not self.seat_won and any(seat.success for seat in self.seats)

    @property
    def answer(self) -> str:
        """The observation of the last turn; for the seat that took it, its own observation."""
        if self.latest is None:
            return ""
        return self.observation if self.latest.seat == self.viewpoint else self.latest.observation

    @property
    def rival(self) -> str:
        """The form value for the opponent of the viewing seat; empty if there is one seat."""
        others = [seat.agent for seat in self.seats if seat.number != max(self.viewpoint, 0)]
        if not others:
            return ""
        return "person" if others[0].kind == Agent.Kind.HUMAN else others[0].slug

    @property
    def free(self) -> Seat | None:
        """A seat that nobody has taken yet."""
        return None if self.episode.over else next((seat for seat in self.seats if seat.is_free), None)

    @property
    def latest(self) -> Turn | None:
        """The last turn; None before the first."""
        return self.turns[0] if self.turns else None

    @property
    def observation(self) -> str:
        """The latest observation, as this viewpoint reads it."""
        return self._reading[0]

    @property
    def info(self) -> dict[str, Any]:
        """The info that came with the latest observation."""
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
        """The text that an agent reads before it acts: the observation and the suffix."""
        return "\n\n".join(part for part in (self.observation, str(self.info.get("suffix", ""))) if part)

    @property
    def beyond_board(self) -> str | None:
        """What an agent reads besides the text that the board shows word for word; None if the board shows none of it.

        The output of a tool counts as shown, because the tool call stands beside it.
        """
        if self.latest is not None and self.latest.info.get("tool_calls"):
            return str(self.info.get("suffix", ""))
        on_board, read = str(self.view.get("text") or "").strip(), self.observation.strip()
        shown = next((part for part in (on_board, read) if part and part in on_board and part in read), None)
        return None if shown is None else self.prompt.replace(shown, "", 1).strip()

    @property
    def turn_now(self) -> int:
        """The number of the current turn, or of the last one if the episode is over."""
        return self.episode.turn_count + (not self.episode.over)

    @property
    def paused(self) -> bool:
        """Whether the agent that plays live is paused."""
        show = getattr(self.episode, "show", None)
        return bool(show and show.paused)

    @property
    def trouble(self) -> str:
        """Why the agent was paused automatically, in a sentence; empty if it was not."""
        show = getattr(self.episode, "show", None)
        return show.trouble if show and not self.episode.over else ""

    @property
    def asks_remotes(self) -> bool:
        """Whether agents that run elsewhere play in it, which may have to connect first."""
        return not self.episode.over and any(seat.agent.kind == Agent.Kind.REMOTE for seat in self.seats)

    @property
    def spent(self) -> Spent | None:
        """Tokens and time of the endpoint agents so far; None if there are none, or while the episode is sealed."""
        if self.sealed or all(seat.agent.kind != Agent.Kind.ENDPOINT for seat in self.seats):
            return None
        return spent(self.episode)

    @property
    def pace(self) -> float | None:
        """Seconds per turn of an agent that plays live; None if none does."""
        show = getattr(self.episode, "show", None)
        return show.pace if show else None

    @property
    def idle_after(self) -> int | None:
        """Seconds without a turn after which the episode is not called live; None if no person is to act."""
        waits_for_person = self.free is not None or any(self._is_person(number) for number in self.to_act)
        return IDLE_SECONDS if waits_for_person and not self.episode.over else None

    def _is_person(self, number: int) -> bool:
        return self.seats[number].is_persons

    @property
    def waiting(self) -> str:
        """What the episode waits for, in words."""
        if self.free is not None:
            return f"the {self.free.ordinal} seat is free"
        return "waiting for the player" if len(self.seats) == 1 else "waiting for a player"

    @property
    def idle(self) -> str:
        """Why nothing happens now, in a few words; empty while the episode is live and when it is over."""
        if self.paused:
            return "paused"
        if self.idle_after is None:
            return ""
        return self.waiting if self.turn_seconds > self.idle_after else ""

    @property
    def turn_seconds(self) -> int:
        """For how long the present turn has lasted."""
        began = self.latest.created if self.latest else self.episode.created
        return max(0, int((timezone.now() - began).total_seconds()))

    @property
    def example(self) -> str:
        """An example action from the environment's instructions."""
        first, info = self.episode.first_observation, self.episode.first_info
        observation, info = observation_for_seat(max(self.viewpoint, 0), first, info)
        return example_in(f"{observation}\n\n{info.get('suffix', '')}")

    @property
    def expert(self) -> bool:
        """Whether the environment has an expert, who may help here: in a ranked episode nobody may."""
        if self.episode.closed:
            return False
        try:
            return has_expert(self.episode.env_id)
        except UnknownEnvironment:
            return False

    @property
    def helps(self) -> bool:
        """Whether this viewpoint may ask for a hint: not if it would help against another person."""
        knows = self.expert or self.has_reference
        return not self.episode.in_duel and knows and self.viewpoint != SPECTATOR and self.among_agents

    @property
    def has_reference(self) -> bool:
        """Whether the environment knows the next step from a reference; in a ranked episode it tells nobody."""
        return not self.episode.closed and hasattr(getattr(self.env, "unwrapped", None), "next_step")

    @cached_property
    def lines(self) -> list[Turn | Handover]:
        """The lines of the history, newest first: turns and, between them, when a person took or returned a seat."""
        return lines_of(self.episode, self.turns, self.viewpoint, sealed=self.sealed)

    def since(self, seq: int) -> list[Turn | Handover]:
        """The lines of the history after `seq`, newest first."""
        return [line for line in self.lines if line.seq is not None and line.seq > seq]

    @property
    def taken(self) -> Seat | None:
        """The viewing seat, if the person has taken it from its agent."""
        seat = None if self.viewpoint == SPECTATOR else self.seats[self.viewpoint]
        return seat if seat is not None and seat.is_taken and not self.episode.over else None

    @property
    def held_by_person(self) -> Seat | None:
        """The seat of an agent that a person has now."""
        return None if self.episode.over else next((seat for seat in self.seats if seat.is_taken), None)

    @property
    def omitted(self) -> int:
        """The number of early turns that are not in `turns`."""
        return max(0, self.episode.turn_count - len(self.turns))


@dataclass(frozen=True, slots=True)
class Spent:
    """The total tokens and seconds of all turns."""

    tokens: int
    seconds: float


def spent(episode: Episode) -> Spent:
    """The tokens and seconds of an episode's turns, as far as the agents recorded them."""
    sums = episode.turns.order_by().aggregate(
        tokens_in=Sum(Cast(KT("extra__tokens_in"), BigIntegerField())),
        tokens_out=Sum(Cast(KT("extra__tokens_out"), BigIntegerField())),
        seconds=Sum(Cast(KT("extra__seconds"), FloatField())),
    )
    return Spent((sums["tokens_in"] or 0) + (sums["tokens_out"] or 0), sums["seconds"] or 0.0)


def is_contest(seats: Sequence[Seat]) -> bool:
    """Whether the rewards of the seats sum to zero."""
    return abs(sum(seat.total_reward for seat in seats)) < _TOLERANCE


_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Standing:
    """A seat on a page: who has it and its reward."""

    seat: Seat
    own: bool
    acts: bool
    chosen: bool
    """Whether the seat has chosen in a round that waits for others."""
    total: float | None
    """The total reward; None while it is hidden."""


def snapshot(episode: Episode, viewpoint: int, history: int = HISTORY) -> Snapshot:
    """The episode as `viewpoint` (a seat or `gem.seats.SPECTATOR`) may see it, with its last `history` turns."""
    turns = episode.turns.filter(number__lte=episode.turn_count)  # a later one comes as an event, after this `seq`
    return _snapshot(episode, viewpoint, list(turns.order_by("-number")[:history]))


def _snapshot(episode: Episode, viewpoint: int, turns: Sequence[Turn]) -> Snapshot:
    """The snapshot with these turns, newest first."""
    sealed = episode.sealed
    seats = _seats_of(episode)
    view, to_act, env = _now(episode, viewpoint)
    if viewpoint != SPECTATOR and seats[viewpoint].held:
        view = without_actions(view)
    return Snapshot(
        episode=episode,
        seats=seats,
        view=view,
        turns=[conceal(turn, viewpoint, sealed=sealed) for turn in turns],
        viewpoint=viewpoint,
        sealed=sealed,
        to_act=tuple(number for number in to_act if not seats[number].held),
        pending=PendingTurn.objects.filter(episode=episode).first() if episode.slow else None,
        env=env,
    )


def _seats_of(episode: Episode) -> list[Seat]:
    """The seats in order, without a query if a list has fetched them (`EpisodeQuerySet.with_seats`)."""
    seats = episode.seats.all()
    fetched: Sequence[Seat] | None = getattr(seats, "_result_cache", None)
    return sorted(seats if fetched is not None else seats.select_related("agent", "user"), key=lambda seat: seat.number)


def public_snapshot(episode: Episode, history: int = HISTORY) -> Snapshot:
    """The episode as spectators may see it."""
    return snapshot(episode, public_viewpoint(episode), history)


def public_snapshots(episodes: Sequence[Episode]) -> list[Snapshot]:
    """The episodes as spectators may see them, each with its last turn; one query for the turns of all."""
    last = Turn.objects.filter(episode__in=episodes, number=F("episode__turn_count"))
    turns = {turn.episode_id: turn for turn in last}
    return [
        _snapshot(episode, public_viewpoint(episode), [turns[episode.pk]] if episode.pk in turns else [])
        for episode in episodes
    ]


def _now(episode: Episode, viewpoint: int) -> tuple[View, tuple[int, ...], gem.Env | None]:
    """The board (text if it cannot be drawn) after the last turn, as `viewpoint` sees it, the seats to act, and the
    environment."""
    try:
        env = restore(episode)
    except Outdated as error:
        in_words = record_in_words(episode, episode.turn_count) if episode.slow else None
        return in_words or no_board(episode, str(error)), () if episode.over else (episode.acting,), None
    return env.view(viewpoint), () if episode.over else env.to_act, env
