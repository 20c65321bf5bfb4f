"""Fragments about episodes for the pages of other apps."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.episodes.models import Batch, Episode
from apps.episodes.snapshot import public_snapshot

MAX_RECENT = 8


@require_safe
def example(request: HttpRequest) -> HttpResponse:
    """An example episode of an environment (`env_id`), played by the expert: its board and a link to the replay."""
    env_id = request.GET.get("env_id", "")
    examples = Episode.objects.filter(env_id=env_id, batch__kind=Batch.Kind.EXAMPLE)
    episode = examples.with_seats().order_by("-created").first()
    shot = public_snapshot(episode) if episode else None
    return render(request, "episodes/example.html", {"episode": episode, "shot": shot, "env_id": env_id})


@require_safe
def recent(request: HttpRequest) -> HttpResponse:
    """The latest public episodes of an environment (`env_id`)."""
    env_id = request.GET.get("env_id", "")
    episodes = Episode.objects.shown().filter(env_id=env_id, listed=True).with_seats().order_by("-created")[:MAX_RECENT]
    return render(request, "episodes/recent.html", {"episodes": episodes, "env_id": env_id})
