"""What changes on a page that shows episodes side by side: the topic "duel"."""

from __future__ import annotations

from django.template.loader import render_to_string

from apps.accounts.models import Viewer
from apps.duels.head_to_head import record_of
from apps.duels.side_by_side import Sides, sides_of
from apps.episodes.models import Batch, Episode
from apps.episodes.snapshot import Snapshot, snapshot
from apps.episodes.visibility import own_seat
from apps.live.topics import Event
from apps.play.topics import ANNOUNCED_PACE, ANNOUNCED_TURNS, SHOTS_KEPT, WATCH

SLOT = "slot-"


class DuelTopic:
    """Audiences: `watch` for everybody, `slot-0` for who plays in that slot: their own board comes by "episode"."""

    def __init__(self) -> None:
        self._shots: dict[tuple[str, int], Snapshot] = {}
        """Episodes that have ended do not change, and the other's turns need not play them again."""

    def current(self, key: str) -> int | None:
        """How often any of its episodes has changed."""
        return Batch.objects.filter(pk=key, kind=Batch.Kind.DUEL).values_list("seq", flat=True).first()

    def allows(self, key: str, audience: str, viewer: Viewer, visitor: str) -> bool:
        """Whoever has the address may watch; a slot is for who plays there."""
        if audience == WATCH:
            return True
        number = audience.removeprefix(SLOT)
        if number == audience or not (number.isascii() and number.isdecimal() and len(number) < 3):
            return False
        episode = Episode.objects.filter(batch=key, slot=int(number)).first()
        return episode is not None and own_seat(episode, viewer, visitor) is not None

    def events(self, key: str, after: int, audience: str) -> list[Event]:
        """One event that stands for everything after `after`: all boards but one's own, and what follows from them."""
        duel = Batch.objects.filter(pk=key, kind=Batch.Kind.DUEL, seq__gt=after).first()
        if duel is None:
            return []
        episodes = duel.episodes.select_related("show").order_by("slot")
        found = sides_of(duel, [self._snapshot(episode) for episode in episodes])
        own = int(audience.removeprefix(SLOT)) if audience.startswith(SLOT) else None
        context = {"duel": duel, "sides": found, "own": own, "swap": True, "announce": _told(found)}
        if found.over:
            context["pair"] = record_of(found)
        return [Event(duel.seq, render_to_string("duels/event.html", context))]

    def _snapshot(self, episode: Episode) -> Snapshot:
        if not episode.over:
            return snapshot(episode, 0)
        place = (episode.id, episode.seq)
        if place not in self._shots:
            self._shots[place] = snapshot(episode, 0)
            for oldest in list(self._shots)[:-SHOTS_KEPT]:
                self._shots.pop(oldest, None)
        return self._shots[place]


def _told(found: Sides) -> bool:
    """Whether this event is read out: fast agents are heard at every fifth turn, and at the end."""
    slow = found.pace is None or found.pace >= ANNOUNCED_PACE
    return slow or found.over or found.last % ANNOUNCED_TURNS == 0
