"""Home, search, the documentation, health and the error pages."""

import logging
import re
import secrets
from typing import Any

from django.conf import settings
from django.db import transaction
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_prometheus.exports import ExportToDjangoView

import gem
from apps.accounts import visitors
from apps.catalog.entries import entry_of
from apps.episodes.errors import Refusal
from apps.play import limits
from apps.play import operations as play
from apps.play.shows import showcase
from apps.site import documents as library
from apps.site import health as parts
from apps.site.search import MAX_QUERY
from apps.site.search import search as find
from gem import registry
from gem.core import MAX_SEED
from gem.errors import GemError

logger = logging.getLogger(__name__)

FIRST_ENVIRONMENTS = ("game:Minesweeper-v0-easy", "game:GuessTheNumber-v0-easy")
"""What the home page offers to play: the first one that is registered."""
HOME_SEEDS = 100_000
FIRST_ACTION_CHARACTERS = 200
"""The home page's board sends short actions; whoever has more to say plays on the environment's page."""


# ---------------------------------------------------------------- home


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """What this is, and something to do at once: a board to play, an expert that plays, jobs and ranks."""
    registered = [spec.id for spec in registry.specs()]
    env_id = next((env_id for env_id in FIRST_ENVIRONMENTS if env_id in registered), registered[0])
    seed = secrets.randbelow(HOME_SEEDS)
    env = gem.make(env_id)
    env.reset(seed=seed)
    context = {
        "entry": entry_of(env_id),
        "seed": seed,
        "view": env.view(),
        "showcase": showcase.present(),
        "count": len(registered),
    }
    return render(request, "home.html", context)


@require_POST
def begin(request: HttpRequest) -> HttpResponse:
    """The first turn on the home page's board: begin the episode it shows, play the action, go there."""
    visitor = visitors.key(request)
    env_id = request.POST.get("env_id", "")
    action = request.POST.get("act", "")[:FIRST_ACTION_CHARACTERS]
    text = request.POST.get("seed", "")
    seed = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 and int(text) <= MAX_SEED else None
    try:
        limits.check_start(request)
        with transaction.atomic():
            episode = play.begin(env_id, seed=seed, listed=True, user=request.user, visitor=visitor)
            if action:
                play.take_turn(episode.id, action, expected_seq=0, user=request.user, visitor=visitor)
    except (GemError, Refusal) as error:
        return bad_request(request, error)
    return redirect(episode)


# ---------------------------------------------------------------- search


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Environments, agents, episodes, jobs and documents by name, id or words; the only fit opens at once."""
    query = request.GET.get("q", "").strip()[:MAX_QUERY]
    found = find(query, request.user)
    if (only := found.only) is not None:
        return redirect(only)
    return render(request, "site/search.html", {"search_query": query, "found": found})


# ---------------------------------------------------------------- documentation


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The list of documents."""
    return render(request, "site/docs.html", {"groups": library.groups()})


@require_safe
def picture(request: HttpRequest, name: str) -> FileResponse:
    """A picture of the documents."""
    found = library.picture(name)
    if found is None:
        raise Http404("There is no picture of this name.")
    return FileResponse(found.open("rb"))


@require_safe
def doc(request: HttpRequest, page: str) -> HttpResponse:
    """One document."""
    found = library.find(page)
    if found is None:
        raise Http404("There is no document of this name.")
    groups = library.groups()
    ordered = [document for group in groups for document in group.documents]
    at = ordered.index(found)
    context = {
        "document": found,
        "groups": groups,
        "before": ordered[at - 1] if at else None,
        "after": ordered[at + 1] if at + 1 < len(ordered) else None,
    }
    return render(request, "site/doc.html", context)


# ---------------------------------------------------------------- health


@never_cache
@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """Whether every part works, and what to do where one does not; needs no database to say so."""
    found = parts.report()
    context: dict[str, Any] = {"report": found, "version": settings.VERSION}
    status = 200 if found.ok else 503
    if found.has_database:
        context["operator"] = request.user.is_staff
        return render(request, "site/health.html", context, status=status)
    return HttpResponse(render_to_string("site/health.html", context), status=status)


@never_cache
@require_safe
def health_json(request: HttpRequest) -> HttpResponse:
    """The same for machines: 200, or 503 if a part failed."""
    found = parts.report()
    return JsonResponse(parts.as_json(found), status=200 if found.ok else 503)


@never_cache
@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """200 from a process that answers at all: where it does not, start it again. Asks no other part."""
    return JsonResponse({"ok": True, "version": settings.VERSION})


@never_cache
@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """200 where this process can show pages, 503 where a proxy should ask another one; workers do not matter here."""
    found = parts.readiness()
    return JsonResponse(parts.as_json(found), status=200 if found.ok else 503)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Figures for Prometheus: for staff, and for whoever sends `Authorization: Bearer METRICS_TOKEN`."""
    expected = f"Bearer {settings.METRICS_TOKEN}" if settings.METRICS_TOKEN else ""
    sent = request.headers.get("Authorization", "")
    has_token = bool(expected) and secrets.compare_digest(sent.encode(), expected.encode())
    if not (has_token or request.user.is_staff):
        raise Http404
    answer: HttpResponse = ExportToDjangoView(request)
    return answer


# ---------------------------------------------------------------- errors


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The request could not be understood."""
    said = str(exception) if isinstance(exception, GemError | Refusal) else ""
    if isinstance(exception, Refusal):
        return render(request, "400.html", {"said": said, "title": exception.title}, status=exception.status)
    return render(request, "400.html", {"said": said}, status=400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Not for this person; where we know why, the page says so."""
    return render(request, "403.html", {"said": str(exception)}, status=403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form that did not come from a page of ours, or from one that is too old."""
    logger.info("A form was refused: %s", reason)
    came_from = request.headers.get("Referer", "")
    ours = url_has_allowed_host_and_scheme(came_from, {request.get_host()}, require_https=request.is_secure())
    return render(request, "403_csrf.html", {"back": came_from if ours else ""}, status=403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Nothing at this address; where we know what was meant, the message says so."""
    said = exception.args[0] if exception.args and isinstance(exception.args[0], str) else ""
    registered = {spec.id for spec in registry.specs()}
    near = [word for word in re.findall(r"[\w:-]+", said) if word in registered]
    return render(request, "404.html", {"said": said, "near": near}, status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """A fault of ours; drawn without the database, the session and the context processors."""
    return HttpResponse(render_to_string("500.html"), status=500)
