"""Benchmarks that people add: checked by a worker, with seasons, ranked jobs and a board of their own.

Their addresses are those of all benchmarks, so they belong to the router of the leaderboard.
"""

from __future__ import annotations

import json

from django.http import Http404, HttpRequest
from ninja import Status

from apps.api import answers
from apps.api.callers import account, manager
from apps.api.routers.boards.leaderboard import board_of, router
from apps.benchmarks import operations
from apps.benchmarks.models import OwnBenchmark
from apps.benchmarks.views import find
from apps.visibility import Visibility
from gem import benchmarks
from gem.client import schemas
from gem.evaluation.data import not_as_ranked

__all__ = ["router"]


@router.post("/benchmarks", response={202: schemas.OwnBenchmark}, auth=manager)
def add_benchmark(request: HttpRequest, sent: schemas.NewBenchmark) -> Status[schemas.OwnBenchmark]:
    """Add a benchmark, or a version of one of yours. A worker checks it before anything is played."""
    version = operations.add(account(request), json.dumps(sent.document), sent.visibility or "")
    return Status(202, _answer(request, version.benchmark))


@router.get("/benchmarks/{name}/versions", response=schemas.OwnBenchmark)
def get_own_benchmark(request: HttpRequest, name: str) -> schemas.OwnBenchmark:
    """A benchmark with its versions and what is wrong with them. One that comes with gemweb has one version."""
    return _built_in(request, name) if name in benchmarks.names() else _answer(request, find(request, name))


@router.put("/benchmarks/{name}/visibility", response=schemas.OwnBenchmark, auth=manager)
def set_benchmark_visibility(request: HttpRequest, name: str, sent: schemas.VisibilityChoice) -> schemas.OwnBenchmark:
    """Open a benchmark of yours to more people. It is never closed again, because others may have rows on it."""
    operations.open_up(_own(request, name), Visibility(sent.visibility))
    return _answer(request, find(request, name))


@router.delete("/benchmarks/{name}", response={204: None}, auth=manager)
def delete_benchmark(request: HttpRequest, name: str) -> Status[None]:
    """Delete a benchmark of yours on which nothing was ranked."""
    operations.delete(_own(request, name))
    return Status(204, None)


def _own(request: HttpRequest, name: str) -> OwnBenchmark:
    row = OwnBenchmark.objects.filter(owner=account(request), name=name).first()
    if row is None:
        raise Http404("You have no such benchmark.")
    return row


def _built_in(request: HttpRequest, name: str) -> schemas.OwnBenchmark:
    benchmark = benchmarks.load(name)
    version = schemas.BenchmarkVersion(
        number=benchmark.version, state="ready", problems=[], notes=not_as_ranked(benchmark), created=None
    )
    return schemas.OwnBenchmark(
        name=name, owner=None, visibility="public", versions=[version], created=None, url=board_of(request, name)
    )


def _answer(request: HttpRequest, row: OwnBenchmark) -> schemas.OwnBenchmark:
    return schemas.OwnBenchmark(
        name=row.name,
        owner=row.owner.get_username(),
        visibility=answers.known(row.visibility),
        versions=[
            schemas.BenchmarkVersion(
                number=version.number,
                state=answers.known(version.state),
                problems=version.problems,
                notes=version.notes,
                created=version.created,
            )
            for version in row.versions.all()
        ],
        created=row.created,
        url=answers.link(request, row.get_absolute_url()),
    )
