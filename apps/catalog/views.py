"""The catalog: every registered environment, and a page for each."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.catalog.entries import all_entries, entry_of, families, sample
from apps.catalog.filters import SORTS, Filter
from gem.errors import UnknownEnvironment


@require_safe
def list_environments(request: HttpRequest) -> HttpResponse:
    """Every environment, or those that are asked for; htmx gets the results only."""
    asked = Filter.read(request.GET)
    entries = all_entries()
    found = asked.apply(entries)
    context = {
        "asked": asked,
        "query": request.GET.get("q", ""),
        "sorts": SORTS,
        "families": families(found),
        "found": len(found),
        "total": len(entries),
        "facets": asked.facets(entries),
    }
    # A history restore asks with htmx's header too, and needs the whole page.
    is_part = request.headers.get("HX-Request") and not request.headers.get("HX-History-Restore-Request")
    answer = render(request, "catalog/list.html#results" if is_part else "catalog/list.html", context)
    answer["Vary"] = "HX-Request"  # or a browser's back button shows the part as if it were the page
    return answer


@require_safe
def environment(request: HttpRequest, env_id: str) -> HttpResponse:
    """One environment: its rules, what agents reach, and what to do with it."""
    try:
        entry = entry_of(env_id)
    except UnknownEnvironment as error:
        raise Http404(str(error)) from error
    variants = [other for other in all_entries() if _is_variant(other.spec.id, entry.spec.id)]
    context = {"entry": entry, "spec": entry.spec, "variants": variants, "sample": sample(env_id)}
    return render(request, "catalog/environment.html", context)


def _is_variant(one: str, other: str) -> bool:
    return one.partition("-v")[0] == other.partition("-v")[0]
