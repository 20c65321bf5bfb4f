"""Home, search, the documentation, health and the error pages."""

import logging
import mimetypes
import re
import secrets
import sys
from typing import Any

import redis
from django.conf import settings
from django.db import DatabaseError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.template.loader import render_to_string
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_prometheus.exports import ExportToDjangoView

import gem
from apps import queue
from apps.accounts import visitors
from apps.catalog.entries import entry_of
from apps.episodes.errors import EpisodeEnded, Refusal, TurnTaken
from apps.faults import is_database_away, is_disk_full
from apps.play import operations as play
from apps.play.shows import showcase
from apps.play.starting import limits, once
from apps.site import documents as library
from apps.site import figures
from apps.site import health as parts
from apps.site.search import MAX_QUERY, other_spelling
from apps.site.search import search as find
from gem import registry
from gem.errors import GemError
from gem.validation.values import MAX_SEED

logger = logging.getLogger(__name__)

PUBLIC_APPS = ("site", "catalog", "daily", "programs")
"""The apps without private objects: where they have no page, logging in finds none either."""

FIRST_ENVIRONMENTS = ("game:Minesweeper-v0-easy", "game:GuessTheNumber-v0-easy")
"""Candidates for the board on the home page; the first one that is registered is used."""
HOME_SEEDS = 100_000
"""The home page draws its seed from 0 to this number, exclusive."""
RETRY_SECONDS = "5"
"""When a request can be sent again that met a database that was away."""
MAX_FIRST_ACTION_CHARACTERS = 200
"""The board on the home page sends short actions. Longer ones can be sent from the page of the episode."""


# ---------------------------------------------------------------- home


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """The home page: an introduction, a board to play on, a live show, recent jobs and the leaderboard."""
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
    """Begin the episode that the home page shows, play its first action if there is one, and redirect to it."""
    visitor, digest = once.visitor_of(request), once.digest_of(request)
    if begun := once.begun(digest):
        return redirect(begun[0])
    env_id = request.POST.get("env_id", "")
    action = request.POST.get("act", "")[:MAX_FIRST_ACTION_CHARACTERS]
    seed = _read_seed(request.POST.get("seed", ""))
    try:
        limits.check_start(request)
        episode = play.begin(env_id, seed=seed, user=request.user, visitor=visitor, form=digest)
    except (GemError, Refusal) as error:
        return bad_request(request, error)
    try:
        if action:
            play.take_turn(episode.id, action, expected_seq=0, user=request.user, visitor=visitor)
    except (TurnTaken, EpisodeEnded):
        return redirect(episode)  # the same form, sent twice at once, has played it
    except (GemError, Refusal) as error:
        episode.delete()  # one transaction for both would wait for a slow environment
        return bad_request(request, error)
    return redirect(episode)


def _read_seed(text: str) -> int | None:
    """The seed in a form field; None if it is missing or not a valid seed."""
    is_number = text.isascii() and text.isdecimal() and len(text) < 20
    return int(text) if is_number and int(text) <= MAX_SEED else None


# ---------------------------------------------------------------- search


@require_safe
def search(request: HttpRequest) -> HttpResponse:
    """Search results for environments, agents, episodes, jobs and documents. A single result is opened at once."""
    query = request.GET.get("q", "").strip()[:MAX_QUERY]
    results = find(query, request.user, visitors.known(request))
    if (only := results.only) is not None:
        return redirect(only)
    spelling = "" if results.total else other_spelling(query)
    return render(request, "site/search.html", {"search_query": query, "results": results, "spelling": spelling})


# ---------------------------------------------------------------- documentation


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The list of documents."""
    return render(request, "site/docs.html", {"groups": library.groups()})


@require_safe
def picture(request: HttpRequest, name: str) -> HttpResponse:
    """A picture that documents show, as bytes: of a stream from a file, Django logs a warning under ASGI."""
    path = library.picture(name)
    if path is None:
        raise Http404("There is no picture with this name.")
    return HttpResponse(path.read_bytes(), content_type=mimetypes.guess_type(path.name)[0])


@require_safe
def doc(request: HttpRequest, page: str) -> HttpResponse:
    """One document."""
    document = library.find(page)
    if document is None:
        raise Http404("There is no document with this name.")
    groups = library.groups()
    ordered = [member for group in groups for member in group.documents]
    position = ordered.index(document)
    context = {
        "document": document,
        "groups": groups,
        "before": ordered[position - 1] if position else None,
        "after": ordered[position + 1] if position + 1 < len(ordered) else None,
    }
    return render(request, "site/doc.html", context)


# ---------------------------------------------------------------- health


@never_cache
@require_safe
def health(request: HttpRequest) -> HttpResponse:
    """The health page. It can be rendered without a database: it then needs no session and no context processors."""
    report = parts.report()
    context: dict[str, Any] = {"report": report, "version": settings.VERSION}
    status = 200 if report.ok else 503
    if report.has_database:
        context["operator"] = request.user.is_staff
        return render(request, "site/health.html", context, status=status)
    return HttpResponse(render_to_string("site/health.html", context), status=status)


@never_cache
@require_safe
def health_json(request: HttpRequest) -> HttpResponse:
    """The health report as JSON: status 200, or 503 if a part failed. Whoever may see the metrics gets figures too."""
    report = parts.report()
    with_figures = _has_metrics_token(request) or (report.has_database and request.user.is_staff)
    return JsonResponse(parts.as_json(report, with_figures=with_figures), status=200 if report.ok else 503)


@never_cache
@require_safe
def live(request: HttpRequest) -> HttpResponse:
    """The liveness probe: 200 from any process that answers at all. It checks no other part."""
    return JsonResponse({"ok": True, "version": settings.VERSION})


@never_cache
@require_safe
def ready(request: HttpRequest) -> HttpResponse:
    """The readiness probe: 200 if this process can show pages, else 503. Workers are not checked."""
    report = parts.shared_readiness.report()
    return JsonResponse(parts.as_json(report), status=200 if report.ok else 503)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Prometheus metrics, for staff and for requests with `Authorization: Bearer METRICS_TOKEN`."""
    if not (_has_metrics_token(request) or request.user.is_staff):
        raise Http404
    try:
        figures.export()
    except (DatabaseError, redis.RedisError) as error:  # the other metrics are of use all the same
        logger.warning("The figures of the site's health are old: %s", error)
    response: HttpResponse = ExportToDjangoView(request)
    return response


def _has_metrics_token(request: HttpRequest) -> bool:
    expected = f"Bearer {settings.METRICS_TOKEN}" if settings.METRICS_TOKEN else ""
    sent = request.headers.get("Authorization", "")
    return bool(expected) and secrets.compare_digest(sent.encode(), expected.encode())


# ---------------------------------------------------------------- errors


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The page for a request that could not be read or was refused."""
    reason = str(exception) if isinstance(exception, GemError | Refusal) else ""
    if isinstance(exception, Refusal):
        return render(request, "400.html", {"reason": reason, "title": exception.title}, status=exception.status)
    return render(request, "400.html", {"reason": reason}, status=400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The page for a request that this person may not make, with the reason if it is known."""
    return render(request, "403.html", {"reason": str(exception)}, status=403)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """The page for a form with a missing or expired CSRF token."""
    logger.info("A form was refused: %s", reason)
    referer = request.headers.get("Referer", "")
    is_internal = url_has_allowed_host_and_scheme(referer, {request.get_host()}, require_https=request.is_secure())
    return render(request, "403_csrf.html", {"back": referer if is_internal else ""}, status=403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """The page for an unknown address. It links to environments that the message names, and offers no report."""
    vars(request).pop("reported", None)
    reason = exception.args[0] if exception.args and isinstance(exception.args[0], str) else ""
    registered = {spec.id for spec in registry.specs()}
    near = [word for word in re.findall(r"[\w:-]+", reason) if word in registered]
    match = request.resolver_match
    may_be_private = match is not None and match.app_name not in PUBLIC_APPS and request.user.is_anonymous
    context = {"reason": reason, "near": near, "may_be_private": may_be_private and request.method == "GET"}
    return render(request, "404.html", context, status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    """The page for an error of the site, rendered without the database, the session and the context processors.

    Django calls it while the error is handled. A full disk and a database that is away are named, because nothing else
    is wrong then; programs may send what only reads again.
    """
    error = sys.exc_info()[1]
    if is_disk_full(error):
        queue.note(queue.DISK_FULL)
        return HttpResponse(render_to_string("507.html"), status=507)
    if is_database_away(error):
        return HttpResponse(render_to_string("503.html"), status=503, headers={"Retry-After": RETRY_SECONDS})
    return HttpResponse(render_to_string("500.html"), status=500)
