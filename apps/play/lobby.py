"""The lobby: episodes that run now or have just ended. Other apps add sections in their `AppConfig.ready`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts import visitors
from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.catalog.entries import CATEGORIES
from apps.episodes.models import Batch, Episode, Seat
from apps.episodes.snapshot import Snapshot, public_snapshots
from apps.htmx import wants_part
from apps.live import presence
from apps.play.people.lobby_seats import open_seats
from apps.play.shows import showcase
from apps.play.starting.forms import WatchForm

MAX_RUNNING = 12
MAX_COMPARED = 60
"""How many of the episodes that were played last are compared by their spectators."""
MAX_ENDED = 12
MAX_AGE = timedelta(days=1)
"""A running episode that is older was most likely abandoned by its player."""


@dataclass(frozen=True, slots=True)
class LobbySection:
    """A section of the lobby from another app. Its template lists `rows` and renders nothing if there are none.

    `find_rows` gets the person who looks and their key as a visitor, and finds what a list may show them.
    """

    template: str
    find_rows: Callable[[Viewer, str], Sequence[object]]


_SECTIONS: list[LobbySection] = []


def register(section: LobbySection) -> None:
    """Add a section to the lobby. Called in an app's `AppConfig.ready`."""
    _SECTIONS.append(section)


@dataclass(frozen=True, slots=True)
class Running:
    """A running episode on the wall."""

    shot: Snapshot
    spectators: int


@dataclass(frozen=True, slots=True)
class Pick:
    """A filter of the wall: its name and how many running episodes it leaves."""

    name: str
    count: int


PEOPLE = "People"
SORTS = {"watched": "Most watched", "new": "Newest"}


@never_cache
@require_safe
def lobby(request: HttpRequest) -> HttpResponse:
    """The page of episodes that run now or have just ended; htmx gets only the wall of those that run."""
    user, visitor = request.user, visitors.known(request)
    context = _wall(request)
    if wants_part(request):
        return render(request, "play/lobby.html#wall", context)
    listed = Episode.objects.listed_for(user).with_seats()
    of_people_or_showcase = Q(batch=None) | Q(batch__kind=Batch.Kind.SHOWCASE)
    context |= {
        "ended": list(listed.ended().filter(of_people_or_showcase, of_job=False).order_by("-created")[:MAX_ENDED]),
        "form": WatchForm(user, initial={"agent": "expert"}),
        "open_seats": open_seats(user, visitor),
        "sections": [(section.template, section.find_rows(user, visitor)) for section in _SECTIONS],
    }
    return render(request, "play/lobby.html", context)


def _wall(request: HttpRequest) -> dict[str, Any]:
    """The running episodes that the reader asks for, those with most spectators first."""
    listed = Episode.objects.listed_for(request.user)
    recent = listed.running().filter(batch=None, created__gt=timezone.now() - MAX_AGE)
    kinds = _kinds(recent.by_last_turn().values_list("pk", "env_id")[:MAX_COMPARED])
    counts = Counter(kind for names in kinds.values() for kind in names)
    chosen, sort = request.GET.get("kind", ""), request.GET.get("sort", "watched")
    asked = [key for key, names in kinds.items() if not chosen or chosen in names]
    spectators = presence.counts(f"episode:{key}" for key in asked)
    if sort != "new":
        asked.sort(key=lambda key: -spectators[f"episode:{key}"])
    episodes = recent.with_seats().select_related("show").in_bulk(asked[:MAX_RUNNING])
    shots = public_snapshots([episodes[key] for key in asked[:MAX_RUNNING] if key in episodes])
    shown = [Running(shot, spectators[f"episode:{shot.episode.id}"]) for shot in shots]
    live = [running for running in shown if not running.shot.idle]
    return {
        "live": live,
        "idle": [running for running in shown if running.shot.idle],
        "showcase": None if live or chosen else showcase.present(),
        "more": len(asked) - len(shown),
        "watching": sum(spectators.values()),
        "picks": [Pick(kind, counts[kind]) for kind in (*CATEGORIES.values(), PEOPLE) if kind in counts],
        "running_count": len(kinds),
        "chosen": chosen,
        "sorts": SORTS,
        "sort": sort,
    }


def _kinds(found: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    """For each of these episodes the filters that leave it: the kind of its environment, and whether people play."""
    kinds: dict[str, set[str]] = {}
    for key, env_id in found:
        category = env_id.partition(":")[0]
        kinds[key] = {CATEGORIES.get(category, category)}
    of_people = Seat.objects.filter(episode__in=list(kinds), agent__kind=Agent.Kind.HUMAN)
    for key in of_people.values_list("episode", flat=True):
        kinds[key].add(PEOPLE)
    return kinds
