"""The catalog: every registered environment, and a page for each."""

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.catalog.entries import Entry, all_entries, entry_of, families, groups
from apps.catalog.filters import SORTS, Filter
from apps.catalog.previews import preview
from apps.htmx import wants_part
from gem.errors import UnknownEnvironment

FAMILIES_ON_A_PAGE = 60
PATIENCE_SECONDS = 0.3
"""How long a page waits for a look into an environment; after that it asks again by itself."""
PICTURE_SECONDS = 600
"""How long a browser keeps a picture."""


@require_safe
def list_environments(request: HttpRequest) -> HttpResponse:
    """Every environment, or those that are asked for; htmx gets the results only."""
    asked = Filter.read(request.GET)
    entries = all_entries()
    found = asked.apply(entries)
    page = Paginator(families(found), FAMILIES_ON_A_PAGE).get_page(request.GET.get("page"))
    is_part = wants_part(request)
    context = {
        "asked": asked,
        "query": request.GET.get("q", ""),
        "sorts": SORTS,
        "page": page,
        "groups": groups(page),
        "found": len(found),
        "total": len(entries),
        "facets": asked.facets(entries),
        "reliefs": [] if found else asked.reliefs(entries),
        "is_part": is_part,
    }
    answer = render(request, "catalog/list.html#results" if is_part else "catalog/list.html", context)
    answer["Vary"] = "HX-Request"  # or a browser's back button shows the part as if it were the page
    return answer


@require_safe
def environment(request: HttpRequest, env_id: str) -> HttpResponse:
    """One environment: its rules, what agents reach, and what to do with it."""
    entry = _entry(env_id)
    variants = [other for other in all_entries() if _is_variant(other.spec.id, entry.spec.id)]
    context = {"entry": entry, "spec": entry.spec, "variants": variants, "look": preview(env_id, PATIENCE_SECONDS)}
    return render(request, "catalog/environment.html", context)


@require_safe
def picture(request: HttpRequest, env_id: str) -> HttpResponse:
    """The small picture of an environment, as a fragment that is asked for when it scrolls into view."""
    entry = _entry(env_id)
    found = preview(env_id, PATIENCE_SECONDS)
    answer = render(request, "catalog/list.html#picture", {"entry": entry, "look": found})
    if found.state == "ready":
        answer["Cache-Control"] = f"max-age={PICTURE_SECONDS}"
    return answer


@require_safe
def first_turn(request: HttpRequest, env_id: str) -> HttpResponse:
    """How an episode begins and whether the environment works, as a fragment for a page that could not wait."""
    entry = _entry(env_id)
    context = {"entry": entry, "spec": entry.spec, "look": preview(env_id, PATIENCE_SECONDS), "late": True}
    return render(request, "catalog/environment.html#look", context)


def _entry(env_id: str) -> Entry:
    try:
        return entry_of(env_id)
    except UnknownEnvironment as error:
        raise Http404(str(error)) from error


def _is_variant(one: str, other: str) -> bool:
    return one.partition("-v")[0] == other.partition("-v")[0]
