"""The event stream of a duel: what happens in its episodes, in the one order in which `DuelChange` keeps it."""

from __future__ import annotations

from apps.accounts.models import Viewer
from apps.episodes.events import WATCH, played, result, started
from apps.episodes.models import Batch, DuelChange, Episode, Turn
from apps.live.feed import Reading
from apps.live.streams import MAX_EVENTS, Collected
from gem.client.events import DuelEnded, DuelEpisodeEnded, DuelJoined, DuelStarted, DuelTurn, Event

Turns = dict[tuple[str, int], Turn]


class DuelStream:
    """Everybody reads the same: the environments of duels have one seat, so nothing is hidden."""

    def has(self, key: str, kind: str) -> bool:
        """See `Stream.has`."""
        return Batch.objects.filter(pk=key, kind=Batch.Kind.DUEL).exists()

    def audience_of(self, key: str, viewer: Viewer, visitor: str) -> str:
        """See `Stream.audience_of`."""
        return WATCH

    def reach(self, key: str) -> tuple[int, bool]:
        """See `Stream.reach`."""
        is_over = not Episode.objects.running().filter(batch=key).exists()
        return Batch.objects.get(pk=key).seq, is_over  # the end has raised the `seq`, which is read after it

    def read(self, key: str, after: int, audience: str) -> Reading:
        """See `Stream.read`."""
        duel = Batch.objects.filter(pk=key, kind=Batch.Kind.DUEL).first()
        if duel is None:
            return Reading([], after, after)
        sides = {side.pk: side for side in duel.episodes.prefetch_related("seats__agent").order_by("slot")}
        collected = Collected(after)
        if after < 0 and sides:
            first = next(iter(sides.values()))
            collected.add(DuelStarted(duel=key, seq=0, at=duel.created, env_id=first.env_id, seed=first.seed))
        known = duel.changes.filter(seq__gt=after, seq__lte=duel.seq)  # the sides are of this time, or later
        changes = list(known.order_by("seq")[: MAX_EVENTS + 1])
        has_all = len(changes) <= MAX_EVENTS
        turns = _turns_of(changes)
        collected.add_until_full(
            event for change in changes[:MAX_EVENTS] if (event := _event(change, sides, turns)) is not None
        )
        is_over = not any(side.status == Episode.Status.RUNNING for side in sides.values())
        if not has_all and not collected.is_full:  # some rows had no event, because an episode was deleted
            return Reading(collected.messages, changes[MAX_EVENTS - 1].seq, duel.seq, is_over)
        return collected.reading(duel.seq, is_over=is_over)


def _turns_of(changes: list[DuelChange]) -> Turns:
    """The turns that these changes name."""
    numbers: dict[str, list[int]] = {}
    for change in changes:
        if change.kind == DuelChange.Kind.TURN and change.episode_id is not None:
            numbers.setdefault(change.episode_id, []).append(change.number)
    return {
        (episode_id, turn.number): turn
        for episode_id, played_numbers in numbers.items()
        for turn in Turn.objects.filter(episode=episode_id, number__in=played_numbers)
    }


def _event(change: DuelChange, sides: dict[str, Episode], turns: Turns) -> Event | None:
    """The event of a change; None if its episode or turn is gone."""
    if change.kind == DuelChange.Kind.OVER:
        ended = [
            {"episode": side.pk, "slot": side.slot, **result(side)}
            for side in sides.values()
            if side.slot is not None and side.slot < change.number
        ]
        return DuelEnded.model_validate({"duel": change.duel_id, "seq": change.seq, "at": change.at, "sides": ended})
    side = sides.get(change.episode_id or "")
    if side is None:
        return None
    common = {"duel": change.duel_id, "seq": change.seq, "at": change.at, "episode": side.pk, "slot": side.slot}
    if change.kind == DuelChange.Kind.JOINED:
        return DuelJoined.model_validate({**common, **started(side, 0, sealed=False)})
    if change.kind == DuelChange.Kind.ENDED:
        return DuelEpisodeEnded.model_validate({**common, **result(side)})
    turn = turns.get((side.pk, change.number))
    if turn is None:
        return None
    return DuelTurn.model_validate({**common, **played(side, turn, 0, sealed=False)})
