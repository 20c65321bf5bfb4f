"""The catalog of environments."""

from __future__ import annotations

from typing import Annotated

from django.http import Http404, HttpRequest
from ninja import Query, Router, Schema
from pydantic import Field

from apps.api.paging import Cursor, Limit, of_list
from apps.catalog.entries import Entry, all_entries, entry_of, variants_of
from apps.catalog.filters import Filter
from gem.client import schemas
from gem.errors import UnknownEnvironment

router = Router(tags=["environments"])


class Filters(Schema):
    """The filters of the catalog, whose page has their values. Several values of one of them widen the search.

    They are declared here and read by `Filter.read`, as on the page.
    """

    q: Annotated[str, Field(description="Words of the id, the summary or the rules.")] = ""
    kind: list[str] = []
    turns: list[str] = []
    tools: list[str] = []
    seats: list[str] = []
    replay: list[str] = []
    difficulty: list[str] = []
    board: list[str] = []
    sort: str = "name"


@router.get("", response=schemas.EnvironmentPage)
def list_environments(
    request: HttpRequest, filters: Query[Filters], cursor: Cursor = "", limit: Limit = 50
) -> schemas.EnvironmentPage:
    """The environments that match the search, in the order of the catalog. The filters are those of its page."""
    matches = Filter.read(request.GET).apply(all_entries())
    entries, following = of_list(matches, cursor, limit)
    return schemas.EnvironmentPage(items=[_environment(request, entry) for entry in entries], next=following)


@router.get("/{env_id}", response=schemas.Environment)
def get_environment(request: HttpRequest, env_id: str) -> schemas.Environment:
    """One environment."""
    return _environment(request, _entry(env_id))


@router.get("/{env_id}/variants", response=schemas.EnvironmentPage)
def list_variants(request: HttpRequest, env_id: str) -> schemas.EnvironmentPage:
    """All difficulties of an environment, with itself."""
    return schemas.EnvironmentPage(items=[_environment(request, entry) for entry in variants_of(_entry(env_id))])


def _entry(env_id: str) -> Entry:
    try:
        return entry_of(env_id)
    except UnknownEnvironment as error:
        raise Http404(str(error)) from error


def _environment(request: HttpRequest, entry: Entry) -> schemas.Environment:
    measured = ((baseline, name) for name, baseline in (("expert", entry.expert), ("random", entry.random)) if baseline)
    return schemas.Environment(
        id=entry.id,
        version=entry.spec.version,
        family=entry.spec.family,
        category=entry.category,
        difficulty=entry.difficulty,
        summary=entry.summary,
        seats=entry.spec.seats,
        turn_limit=entry.turn_limit,
        tools=list(entry.spec.tools),
        replay=entry.spec.replay,
        cost=entry.spec.cost,
        has_expert=entry.has_expert,
        arguments={argument.name: argument.value for argument in entry.arguments},
        missing=entry.missing,
        baselines=[
            schemas.Baseline(agent=name, episodes=row.n, mean_return=row.mean_return, success_rate=row.success_rate)
            for row, name in measured
        ],
        url=request.build_absolute_uri(entry.get_absolute_url()),
    )
