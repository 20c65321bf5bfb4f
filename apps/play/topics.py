"""What changes on a page that shows a running episode (the topic "episode") or several side by side ("duel")."""

from __future__ import annotations

from django.template.loader import render_to_string

from apps.accounts.models import Viewer
from apps.episodes.models import Batch, Episode
from apps.episodes.seen import own_seat, public_viewpoint
from apps.episodes.snapshot import Snapshot, snapshot
from apps.live.topics import Event
from apps.play.pairs import record_of
from apps.play.sides import Sides, sides_of

WATCH, SEAT, HOME, SLOT = "watch", "seat-", "home", "slot-"
ANNOUNCED_PACE = 2.0
"""Seconds per turn from which each turn is read out; of a faster agent every fifth one is."""
ANNOUNCED_TURNS = 5
SHOTS_KEPT = 32


class EpisodeTopic:
    """Audiences: `seat-1` for who plays there, `watch` for everybody, `home` for a small board on another page."""

    def __init__(self) -> None:
        self._shots: dict[tuple[str, int, int], Snapshot] = {}
        """The last ones by episode, `seq` and viewpoint: what one audience has read is not read again for the next
        with the same viewpoint. Seats with secrets from one another have different ones."""

    def current(self, key: str) -> int | None:
        """How often the episode has changed."""
        return Episode.objects.filter(pk=key).values_list("seq", flat=True).first()

    def allows(self, key: str, audience: str, viewer: Viewer, visitor: str) -> bool:
        """Whoever has the address may watch; a seat is for who sits in it."""
        if audience in {WATCH, HOME}:
            return True
        episode = Episode.objects.filter(pk=key).first()
        if episode is None:
            return False
        seat = own_seat(episode, viewer, visitor)
        return seat is not None and audience == f"{SEAT}{seat}"

    def events(self, key: str, after: int, audience: str) -> list[Event]:
        """One event that stands for everything after `after`: the board now, and every turn in between."""
        episode = Episode.objects.select_related("show").filter(pk=key, seq__gt=after).first()
        if episode is None:
            return []
        seat = int(audience.removeprefix(SEAT)) if audience.startswith(SEAT) else public_viewpoint(episode)
        return [Event(episode.seq, render(self._snapshot(episode, seat), after, audience))]

    def _snapshot(self, episode: Episode, viewpoint: int) -> Snapshot:
        place = (episode.id, episode.seq, viewpoint)
        shot = self._shots.get(place)
        if shot is None:
            shot = self._shots[place] = snapshot(episode, viewpoint)
            for oldest in list(self._shots)[:-SHOTS_KEPT]:
                self._shots.pop(oldest, None)
        return shot


def render(shot: Snapshot, after: int, audience: str) -> str:
    """What changes on a page that was drawn when the episode had reached `after`."""
    if audience == HOME:
        return render_to_string("play/card.html", {"shot": shot, "swap": True})
    own = audience.startswith(SEAT)
    context = {
        "shot": shot,
        "own": own,
        "acting": own and not shot.episode.over,
        "rows": shot.since(after),
        "announce": own or _announced(shot),
    }
    return render_to_string("episodes/event.html", context)


def _announced(shot: Snapshot) -> bool:
    slow = shot.pace is None or shot.pace >= ANNOUNCED_PACE
    return slow or shot.episode.over or shot.episode.turn_count % ANNOUNCED_TURNS == 0


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
        return [Event(duel.seq, render_to_string("play/duel_event.html", context))]

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
