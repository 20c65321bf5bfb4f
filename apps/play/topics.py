"""What changes on a page that shows a running episode: the topic "episode"."""

from __future__ import annotations

from django.template.loader import render_to_string

from apps.accounts.models import Viewer
from apps.episodes.models import Episode
from apps.episodes.snapshot import Snapshot, snapshot
from apps.episodes.visibility import own_seat, public_viewpoint
from apps.live.topics import Event

WATCH, SEAT, HOME = "watch", "seat-", "home"
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
