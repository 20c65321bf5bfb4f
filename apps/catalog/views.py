"""The catalog of all registered environments, and a page for each."""

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.catalog.entries import Entry, Group, all_entries, entry_of, families, groups, variants_of
from apps.catalog.filters import SORTS, Filter
from apps.catalog.learned import best_of
from apps.catalog.previews import preview
from apps.htmx import wants_part
from gem.errors import UnknownEnvironment

FAMILIES_PER_PAGE = 24
PREVIEW_TIMEOUT_SECONDS = 0.3
"""How long a page waits for a preview. After that the browser requests it again."""
PICTURE_CACHE_SECONDS = 600
"""How long a browser caches a picture."""


@require_safe
def list_environments(request: HttpRequest) -> HttpResponse:
    """All environments, or those that match the search; htmx gets only the results."""
    search = Filter.read(request.GET)
    entries = all_entries()
    matches = search.apply(entries)
    page = Paginator(families(matches), FAMILIES_PER_PAGE).get_page(request.GET.get("page"))
    is_part = wants_part(request)
    facets = search.facets(entries)
    boards = next((facet.choices for facet in facets if facet.name == "board"), ())
    board = next(iter(search.chosen.get("board", ())), "")
    context = {
        "search": search,
        "query": request.GET.get("q", ""),
        "sorts": SORTS,
        "page": page,
        "groups": groups(page) if search.sort == "name" else [Group("", tuple(page))],
        "match_count": len(matches),
        "total": len(entries),
        "facets": [facet for facet in facets if facet.name != "board"],
        "boards": [(choice, search.choosing("board", choice.value)) for choice in boards if choice.count],
        "board": board,
        "any_board": search.choosing("board", ""),
        "reliefs": [] if matches else search.reliefs(entries),
        "is_part": is_part,
    }
    response = render(request, "catalog/list.html#results" if is_part else "catalog/list.html", context)
    response["Vary"] = "HX-Request"  # otherwise the browser's back button would show the part as the page
    return response


@require_safe
def environment(request: HttpRequest, env_id: str) -> HttpResponse:
    """The page of an environment: its rules, its baselines, and what to do with it."""
    entry = _entry(env_id)
    context = {
        "entry": entry,
        "spec": entry.spec,
        "variants": variants_of(entry),
        "look": preview(env_id, PREVIEW_TIMEOUT_SECONDS),
        "learned": best_of(env_id),
    }
    return render(request, "catalog/environment.html", context)


@require_safe
def picture(request: HttpRequest, env_id: str) -> HttpResponse:
    """The small picture of an environment, a fragment that the browser requests when it scrolls into view."""
    entry = _entry(env_id)
    look = preview(env_id, PREVIEW_TIMEOUT_SECONDS)
    response = render(request, "catalog/list.html#picture", {"entry": entry, "look": look})
    if look.state == "ready":
        response["Cache-Control"] = f"max-age={PICTURE_CACHE_SECONDS}"
    return response


@require_safe
def first_turn(request: HttpRequest, env_id: str) -> HttpResponse:
    """The first turn and the state of an environment, a fragment for pages that did not wait for the preview."""
    entry = _entry(env_id)
    context = {"entry": entry, "spec": entry.spec, "look": preview(env_id, PREVIEW_TIMEOUT_SECONDS), "late": True}
    return render(request, "catalog/environment.html#look", context)


def _entry(env_id: str) -> Entry:
    try:
        return entry_of(env_id)
    except UnknownEnvironment as error:
        raise Http404(str(error)) from error
