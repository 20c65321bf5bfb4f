"""TV mode: one running episode after another on the whole page, the one with most spectators first."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from apps.accounts.models import Viewer
from apps.episodes.models import Episode
from apps.episodes.snapshot import Snapshot, public_snapshots
from apps.htmx import wants_part
from apps.live import presence
from apps.play.lobby import MAX_AGE, MAX_COMPARED, MAX_RUNNING
from apps.play.shows import showcase


@never_cache
@require_safe
def tv(request: HttpRequest) -> HttpResponse:
    """The episode that is on: `stay` until it ends, or the one that follows `after`. htmx gets only the screen."""
    stay, after = request.GET.get("stay", ""), request.GET.get("after", "")
    shot = _choose(request.user, stay, after)
    shown = None if shot else showcase.present()
    context = {"shot": shot, "showcase": shown, "section": "watch"}
    return render(request, "play/tv.html#screen" if wants_part(request) else "play/tv.html", context)


def _choose(user: Viewer, stay: str, after: str) -> Snapshot | None:
    """The episode that `stay` names while it goes on, or the one begun before `after`; otherwise the most watched.

    From `after` to `after`, all are on once before one comes again: the oldest is followed by the newest. An order by
    spectators would not do, for whoever looks is one of them and changes it.
    """
    recent = Episode.objects.listed_for(user).running().filter(batch=None, created__gt=timezone.now() - MAX_AGE)
    begun = dict(recent.by_last_turn().values_list("pk", "created")[:MAX_COMPARED])
    if after in begun:
        keys = sorted(begun, key=lambda key: (begun[key], key), reverse=True)
        place = keys.index(after) + 1
        keys = keys[place:] + keys[:place]
    else:
        spectators = presence.counts(f"episode:{key}" for key in begun)
        keys = sorted(begun, key=lambda key: (key != stay, -spectators[f"episode:{key}"]))
    episodes = recent.with_seats().select_related("show").in_bulk(keys[:MAX_RUNNING])
    shots = public_snapshots([episodes[key] for key in keys[:MAX_RUNNING] if key in episodes])
    return next((shot for shot in shots if not shot.idle), None)
