"""The lobby: episodes that run now or have just ended. Other apps add sections in their `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.episodes.models import Batch, Episode
from apps.episodes.snapshot import public_snapshot
from apps.live import presence
from apps.play.forms import WatchForm
from apps.play.shows import showcase

MAX_RUNNING = 12
MAX_ENDED = 12
MAX_AGE = timedelta(days=1)
"""A running episode that is older was most likely abandoned by its player."""


@dataclass(frozen=True, slots=True)
class LobbySection:
    """A section of the lobby from another app. Its template lists `rows` and renders nothing if there are none."""

    template: str
    find_rows: Callable[[], Sequence[object]]


_SECTIONS: list[LobbySection] = []


def register(section: LobbySection) -> None:
    """Add a section to the lobby. Called in an app's `AppConfig.ready`."""
    _SECTIONS.append(section)


@never_cache
@require_safe
def lobby(request: HttpRequest) -> HttpResponse:
    """The page of episodes that run now or have just ended."""
    listed = Episode.objects.filter(listed=True).shown().with_seats()
    recent = listed.running().filter(batch=None, created__gt=timezone.now() - MAX_AGE)
    running = list(recent.select_related("show").by_last_turn()[:MAX_RUNNING])
    spectators = presence.counts(f"episode:{episode.id}" for episode in running)
    snapshots = [(public_snapshot(episode, 1), spectators[f"episode:{episode.id}"]) for episode in running]
    live = [(shot, spectator_count) for shot, spectator_count in snapshots if not shot.idle]
    of_people_or_showcase = Q(batch=None) | Q(batch__kind=Batch.Kind.SHOWCASE)
    context = {
        "live": live,
        "idle": [(shot, spectator_count) for shot, spectator_count in snapshots if shot.idle],
        "showcase": None if live else showcase.present(),
        "ended": list(listed.ended().filter(of_people_or_showcase, of_job=False).order_by("-created")[:MAX_ENDED]),
        "form": WatchForm(request.user, initial={"agent": "expert"}),
        "sections": [(section.template, section.find_rows()) for section in _SECTIONS],
    }
    return render(request, "play/lobby.html", context)
