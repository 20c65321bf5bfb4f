"""The event stream of an episode, read from its rows: the reset, every turn, and the end.

The `seq` of a turn is the episode's after it; in episodes that were recorded at once, it is the turn's number. The end
follows the last turn, and its `seq` is one more, unless the episode was stopped: then the stop raised it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from apps.accounts.models import Viewer
from apps.episodes.models import Episode, Turn
from apps.episodes.visibility import conceal, open_info, own_seat, public_viewpoint
from apps.live.feed import Reading
from apps.live.streams import Collected
from gem.client.events import EpisodeEnded, EpisodeStarted, EpisodeTurn

WATCH, SEAT = "watch", "seat-"
ROWS = 100
"""Turns that are fetched at once."""


class EpisodeStream:
    """Audiences: `seat-1` for the person in seat 1, `watch` for everybody else."""

    def has(self, key: str, kind: str) -> bool:
        """See `Stream.has`."""
        return Episode.objects.filter(pk=key).exists()

    def audience_of(self, key: str, viewer: Viewer, visitor: str) -> str:
        """See `Stream.audience_of`. Where there is one seat, nothing is hidden, and all read the same."""
        episode = Episode.objects.filter(pk=key, seat_count__gt=1).first()
        seat = own_seat(episode, viewer, visitor) if episode is not None else None
        return WATCH if seat is None else f"{SEAT}{seat}"

    def reach(self, key: str) -> tuple[int, bool]:
        """See `Stream.reach`."""
        episode = Episode.objects.get(pk=key)
        return _top(episode, _last_turn(episode)), episode.over

    def read(self, key: str, after: int, audience: str) -> Reading:
        """See `Stream.read`."""
        episode = Episode.objects.filter(pk=key).first()
        if episode is None:
            return Reading([], after, after)
        seat = int(audience.removeprefix(SEAT)) if audience.startswith(SEAT) else public_viewpoint(episode)
        sealed = episode.sealed
        last_turn = _last_turn(episode)
        top = _top(episode, last_turn)
        collected = Collected(after)
        if after < 0:
            collected.add(EpisodeStarted(episode=key, seq=0, at=episode.created, **started(episode, seat, sealed)))
        collected.add_until_full(
            EpisodeTurn(episode=key, seq=_seq(turn), at=turn.created, **played(episode, turn, seat, sealed))
            for turn in _turns_after(episode, after, last_turn)
        )
        if episode.over and not collected.is_full and after < top:
            collected.add(_ended(episode, top, seat, sealed))
        return collected.reading(top, is_over=episode.over)


def started(episode: Episode, seat: int, sealed: bool) -> dict[str, Any]:
    """The fields of `gem.client.events.Started`."""
    return {
        "env_id": episode.env_id,
        "env_version": episode.env_version,
        "seed": None if sealed else episode.seed,
        "max_turns": episode.max_turns,
        "seats": [
            {"number": row.number, "agent": row.agent.slug, "agent_name": row.agent.name}
            for row in episode.seats.select_related("agent").order_by("number")
        ],
        "observation": episode.first_observation,
        "info": open_info(episode.first_info, seat, sealed=sealed),
    }


def played(episode: Episode, turn: Turn, seat: int, sealed: bool) -> dict[str, Any]:
    """The fields of `gem.client.events.Played`, as this seat (or a spectator) may read them."""
    visible_turn = conceal(turn, seat, sealed=sealed)
    is_last = episode.status == Episode.Status.ENDED and turn.number == episode.turn_count
    return {
        "turn": turn.number,
        "seat": turn.seat,
        "action": None if visible_turn.concealed else visible_turn.action,
        "observation": visible_turn.observation,
        "reward": None if visible_turn.concealed else visible_turn.reward,
        "terminated": is_last and episode.terminated,
        "truncated": is_last and episode.truncated,
        "info": visible_turn.info,
        "extra": visible_turn.extra,
    }


def result(episode: Episode) -> dict[str, Any]:
    """The fields of `gem.client.events.Result`."""
    scored = next((row for row in episode.seats.all() if row.number == episode.scored_seat), None)
    return {
        "outcome": episode.outcome,
        "success": episode.success,
        "terminated": episode.terminated,
        "truncated": episode.truncated,
        "total_reward": scored.total_reward if scored else 0.0,
        "turn_count": episode.turn_count,
        "failure": episode.failure,
        "failed_by": episode.failed_by,
    }


def _ended(episode: Episode, seq: int, seat: int, sealed: bool) -> EpisodeEnded:
    """The last event. After an undo the seats may still have secrets, which the branch has too."""
    rows = sorted(episode.seats.all(), key=lambda row: row.number)
    totals = [None if sealed and row.number != seat else row.total_reward for row in rows]
    fields = result(episode)
    if sealed and episode.scored_seat != seat:
        fields["total_reward"] = None
    branches = Episode.objects.visible_to(AnonymousUser())  # all readers get the same
    return EpisodeEnded(
        episode=episode.pk,
        seq=seq,
        at=episode.ended,
        seed=None if sealed else episode.seed,
        total_rewards=totals,
        goes_on_in=branches.filter(pk=episode.goes_on_in_id).values_list("pk", flat=True).first(),
        **fields,
    )


def _turns_of(episode: Episode) -> QuerySet[Turn]:
    """The turns that the episode had when it was read. A later one may be its last, which the episode does not say."""
    return episode.turns.filter(number__lte=episode.turn_count)


def _last_turn(episode: Episode) -> Turn | None:
    return _turns_of(episode).only("episode_id", "number", "seq").order_by("-number").first()


def _seq(turn: Turn) -> int:
    return turn.number if turn.seq is None else turn.seq


def _top(episode: Episode, last_turn: Turn | None) -> int:
    """The `seq` of the last event, or of a later change that shows nothing."""
    last = _seq(last_turn) if last_turn is not None else 0
    return max(episode.seq, last + 1 if episode.over else last)


def _turns_after(episode: Episode, after: int, last_turn: Turn | None) -> Iterator[Turn]:
    """The turns with a higher `seq`, in their order; a few are fetched at a time.

    Each of them raised the `seq`, so there are at most as many of them as it has grown since, and they are the last.
    """
    if last_turn is None:
        return
    number = max(0, last_turn.number - max(0, max(episode.seq, _seq(last_turn)) - after))
    while rows := list(_turns_of(episode).filter(number__gt=number).order_by("number")[:ROWS]):
        yield from (turn for turn in rows if _seq(turn) > after)
        number = rows[-1].number
