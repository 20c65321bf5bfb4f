"""Fragments about episodes for the pages of other apps."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.agents.models import Agent
from apps.episodes.models import Batch, Episode, Seat
from apps.episodes.snapshot import public_snapshot

MAX_RECENT = 8
LOOKED_AT = 1_000
"""Of an agent, those among so many of the newest episodes outside of jobs are found: an agent may have played none."""


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
    """The latest public episodes of an environment (`env_id`), or those of an agent (`agent`) outside of jobs."""
    if slug := request.GET.get("agent", ""):
        return render(request, "episodes/recent.html", {"episodes": _of_agent(request, slug), "slug": slug})
    env_id = request.GET.get("env_id", "")
    episodes = Episode.objects.filter(env_id=env_id).published().with_seats().order_by("-created")[:MAX_RECENT]
    return render(request, "episodes/recent.html", {"episodes": episodes, "env_id": env_id})


def _of_agent(request: HttpRequest, slug: str) -> list[Episode]:
    agent = Agent.objects.visible_to(request.user).filter(slug=slug).first()
    if agent is None:
        return []
    episodes = Episode.objects.filter(of_job=False).published().order_by("-created", "id")
    newest = list(episodes.values_list("pk", flat=True)[:LOOKED_AT])
    played = set(Seat.objects.filter(agent=agent, episode__in=newest).values_list("episode", flat=True))
    keys = [key for key in newest if key in played][:MAX_RECENT]
    found = Episode.objects.with_seats().in_bulk(keys)
    return [found[key] for key in keys if key in found]
