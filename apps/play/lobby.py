"""The lobby: what is played now, and what has just ended. Apps above add what they show of it in `AppConfig.ready`."""

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

RUNNING = 12
ENDED = 12
FRESH = timedelta(days=1)
"""An episode that was begun longer ago has been left by its player, most likely."""


@dataclass(frozen=True, slots=True)
class LobbySection:
    """A part of the lobby that another app adds: its template lists `rows`, and shows nothing without any."""

    template: str
    find_rows: Callable[[], Sequence[object]]


_SECTIONS: list[LobbySection] = []


def register(section: LobbySection) -> None:
    """Show this in the lobby; called in an app's `AppConfig.ready`."""
    _SECTIONS.append(section)


@never_cache
@require_safe
def lobby(request: HttpRequest) -> HttpResponse:
    """What is played now, and what has just ended."""
    listed = Episode.objects.filter(listed=True).with_seats()
    recent = listed.running().filter(batch=None, created__gt=timezone.now() - FRESH)
    running = list(recent.select_related("show").by_last_turn()[:RUNNING])
    spectators = presence.counts(f"episode:{episode.id}" for episode in running)
    shown = [(public_snapshot(episode, 1), spectators[f"episode:{episode.id}"]) for episode in running]
    live = [(shot, watching) for shot, watching in shown if not shot.idle]
    of_people_or_shown = Q(batch=None) | Q(batch__kind=Batch.Kind.SHOWCASE)
    context = {
        "live": live,
        "idle": [(shot, watching) for shot, watching in shown if shot.idle],
        "showcase": None if live else showcase.present(),
        "ended": list(listed.ended().filter(of_people_or_shown, of_job=False).order_by("-created")[:ENDED]),
        "form": WatchForm(request.user, initial={"agent": "expert"}),
        "sections": [(section.template, section.find_rows()) for section in _SECTIONS],
    }
    return render(request, "play/lobby.html", context)
