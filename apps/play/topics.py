"""The topic "episode": what changes on a page that shows a running episode."""

from __future__ import annotations

from django.template.loader import render_to_string

from apps.accounts.models import Viewer
from apps.episodes.models import Episode
from apps.episodes.snapshot import Snapshot, snapshot
from apps.episodes.visibility import own_seat, public_viewpoint
from apps.live.topics import Event
from apps.moderation.moderated import may_open

WATCH, SEAT, HOME = "watch", "seat-", "home"
ANNOUNCED_PACE = 2.0
"""Screen readers announce every turn from this pace (seconds per turn) on, and every fifth of faster agents."""
ANNOUNCED_TURNS = 5
MAX_CACHED_SHOTS = 32


class EpisodeTopic:
    """Audiences: `seat-1` for the player in seat 1, `watch` for spectators, `home` for a card on another page."""

    def __init__(self) -> None:
        self._shots: dict[tuple[str, int, int], Snapshot] = {}
        """The latest snapshots by episode, `seq` and viewpoint. Audiences with the same viewpoint share one; seats with
        secrets from one another have different viewpoints."""

    def current(self, key: str) -> int | None:
        """The episode's `seq`; None if there is no such episode."""
        return Episode.objects.filter(pk=key).values_list("seq", flat=True).first()

    def allows(self, key: str, audience: str, viewer: Viewer, visitor: str) -> bool:
        """Anyone with the address may watch; a seat is only for its player."""
        episode = Episode.objects.select_related("batch__job").filter(pk=key).first()
        if episode is None or not may_open(episode, viewer):
            return False
        if audience in {WATCH, HOME}:
            return True
        seat = own_seat(episode, viewer, visitor)
        return seat is not None and audience == f"{SEAT}{seat}"

    def events(self, key: str, after: int, audience: str) -> list[Event]:
        """One event for all changes after `after`: the current board and every turn in between."""
        episode = Episode.objects.select_related("show").filter(pk=key, seq__gt=after).first()
        if episode is None:
            return []
        seat = int(audience.removeprefix(SEAT)) if audience.startswith(SEAT) else public_viewpoint(episode)
        return [Event(episode.seq, render(self._snapshot(episode, seat), after, audience))]

    def _snapshot(self, episode: Episode, viewpoint: int) -> Snapshot:
        key = (episode.id, episode.seq, viewpoint)
        shot = self._shots.get(key)
        if shot is None:
            shot = self._shots[key] = snapshot(episode, viewpoint)
            for oldest in list(self._shots)[:-MAX_CACHED_SHOTS]:
                self._shots.pop(oldest, None)
        return shot


def render(shot: Snapshot, after: int, audience: str) -> str:
    """The fragments that update a page which was drawn at `seq` `after`."""
    if audience == HOME:
        return render_to_string("play/card.html", {"shot": shot, "swap": True})
    own = audience.startswith(SEAT)
    context = {
        "shot": shot,
        "own": own,
        "acting": own and not shot.episode.over,
        "rows": shot.since(after),
        "announce": own or _is_announced(shot),
    }
    return render_to_string("episodes/event.html", context)


def _is_announced(shot: Snapshot) -> bool:
    slow = shot.pace is None or shot.pace >= ANNOUNCED_PACE
    return slow or shot.episode.over or shot.episode.turn_count % ANNOUNCED_TURNS == 0
