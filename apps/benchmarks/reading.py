"""What other apps ask of the benchmarks of people."""

from __future__ import annotations

from apps.accounts.models import User, Viewer
from apps.benchmarks.models import OwnBenchmark
from apps.visibility import Visibility, narrower
from gem import benchmarks
from gem.benchmarks import Benchmark
from gem.errors import UsageError

MOST_LISTED = 200
MOST = 20
"""Benchmarks of one's own that a form offers."""


def visibility_of(name: str) -> Visibility:
    """Who may see a benchmark: everybody, if it comes with gemweb."""
    if not benchmarks.is_own(name):
        return Visibility.PUBLIC
    found = OwnBenchmark.objects.named(name).values_list("visibility", flat=True).first()
    return Visibility(found) if found else Visibility.PRIVATE


def as_closed_as(name: str | None, visibility: str) -> Visibility:
    """The visibility of something that is played on a benchmark: no more open than the benchmark itself."""
    return narrower(visibility, visibility_of(name)) if name else Visibility(visibility)


def choices_on(name: str | None) -> list[Visibility]:
    """The visibilities that its owner can give something that is played on a benchmark: see `as_closed_as`."""
    return [choice for choice in Visibility if as_closed_as(name, choice) == choice]


def offered_to(viewer: Viewer, chosen: str = "") -> list[Benchmark]:
    """The benchmarks of people that a form offers to somebody: their own, and the one that is chosen already."""
    names = []
    if isinstance(viewer, User):
        rows = OwnBenchmark.objects.ready().filter(owner=viewer).order_by("name")
        names = list(rows.values_list("name", flat=True)[:MOST])
    if benchmarks.is_own(chosen) and chosen not in names:
        names.append(chosen)
    return [found for name in names if (found := _found(name)) is not None]


def listed_names(viewer: Viewer) -> list[str]:
    """The names of the benchmarks of people that lists show to somebody, and of which some version is ready."""
    rows = OwnBenchmark.objects.listed_for(viewer).ready().order_by("name")
    return list(rows.values_list("name", flat=True)[:MOST_LISTED])


def _found(name: str) -> Benchmark | None:
    try:
        return benchmarks.load(name)
    except UsageError:
        return None


def beside(benchmark: Benchmark) -> list[Benchmark]:
    """The benchmarks that tabs offer beside one: those of gemweb, and the one itself if it is a person's."""
    found = [benchmarks.load(name) for name in benchmarks.names()]
    return [*found, benchmark] if benchmarks.is_own(benchmark.name) else found
