"""The topic "duel": what changes on a page that shows episodes side by side."""

from __future__ import annotations

from django.template.loader import render_to_string

from apps.accounts.models import Viewer
from apps.duels.head_to_head import record_of
from apps.duels.side_by_side import Sides, sides_of
from apps.episodes.models import Batch, Episode
from apps.episodes.snapshot import Snapshot, snapshot
from apps.episodes.visibility import own_seat
from apps.live.topics import Event
from apps.play.topics import ANNOUNCED_PACE, ANNOUNCED_TURNS, MAX_CACHED_SHOTS, WATCH

SLOT = "slot-"


class DuelTopic:
    """Audiences: `watch` for everybody, `slot-0` for the person in that slot, whose own board comes by "episode"."""

    def __init__(self) -> None:
        self._shots: dict[tuple[str, int], Snapshot] = {}
        """Snapshots of ended episodes, which do not change and need not be drawn again at every turn of the others."""

    def current(self, key: str) -> int | None:
        """The number of changes to the duel's episodes so far."""
        return Batch.objects.filter(pk=key, kind=Batch.Kind.DUEL).values_list("seq", flat=True).first()

    def shows(self, key: str, viewer: Viewer, visitor: str) -> bool:
        """See `Topic.shows`. A duel with a hidden episode is only for whoever may open all of it."""
        if Episode.objects.filter(batch=key).hidden_from(viewer, visitor).exists():
            return False
        return Batch.objects.visible_to(viewer, visitor).filter(pk=key).exists()

    def allows(self, key: str, audience: str, viewer: Viewer, visitor: str) -> bool:
        """Anyone with the address may watch; a slot is only for the person who plays there."""
        if audience == WATCH:
            return True
        number = audience.removeprefix(SLOT)
        if number == audience or not (number.isascii() and number.isdecimal() and len(number) < 3):
            return False
        episode = Episode.objects.filter(batch=key, slot=int(number)).first()
        return episode is not None and own_seat(episode, viewer, visitor) is not None

    def events(self, key: str, after: int, audience: str) -> list[Event]:
        """One event for all changes after `after`: every board except the player's own, and the comparison."""
        duel = Batch.objects.filter(pk=key, kind=Batch.Kind.DUEL, seq__gt=after).first()
        if duel is None:
            return []
        episodes = duel.episodes.select_related("show").order_by("slot")
        all_sides = sides_of(duel, [self._snapshot(episode) for episode in episodes])
        own = int(audience.removeprefix(SLOT)) if audience.startswith(SLOT) else None
        context = {"duel": duel, "sides": all_sides, "own": own, "swap": True, "announce": _is_announced(all_sides)}
        if all_sides.over:
            context["pair"] = record_of(all_sides)
        return [Event(duel.seq, render_to_string("duels/event.html", context))]

    def _snapshot(self, episode: Episode) -> Snapshot:
        if not episode.over:
            return snapshot(episode, 0)
        key = (episode.id, episode.seq)
        if key not in self._shots:
            self._shots[key] = snapshot(episode, 0)
            for oldest in list(self._shots)[:-MAX_CACHED_SHOTS]:
                self._shots.pop(oldest, None)
        return self._shots[key]


def _is_announced(all_sides: Sides) -> bool:
    """Whether screen readers announce this event: of fast agents only every fifth turn, and the end."""
    slow = all_sides.pace is None or all_sides.pace >= ANNOUNCED_PACE
    return slow or all_sides.over or all_sides.last % ANNOUNCED_TURNS == 0
