"""Finding benchmarks of people by their names, as `gem.benchmarks.load` asks for them.

A request may load only what its person may know of, so a page or an answer says of somebody else's private benchmark
what it says of one that does not exist. Workers have no such person and load all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from typing import Any

from django.http import HttpRequest, HttpResponse

from apps.benchmarks.models import BenchmarkVersion, OwnBenchmark
from gem import benchmarks
from gem.benchmarks import Benchmark, document
from gem.errors import UsageError

KEPT = 64
"""Versions that a process has read and keeps."""
_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)


class ViewerMiddleware:
    """Notes for whom the present request is answered."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer the request, and forget its person."""
        token = _request.set(request)
        try:
            return self.get_response(request)
        finally:
            _request.reset(token)


def find(name: str, version: int | None) -> Benchmark | None:
    """Return a version of a benchmark, or its newest one that is ready; None if there is none for this person."""
    request = _request.get()
    known = OwnBenchmark.objects.all() if request is None else OwnBenchmark.objects.known_to(request.user)
    versions = BenchmarkVersion.objects.filter(benchmark__in=known.named(name), state=BenchmarkVersion.State.READY)
    if version is not None:
        versions = versions.filter(number=version)
    found = versions.order_by("-number").values_list("pk", flat=True).first()
    return None if found is None else _read(found, name)


def named(name: str, data: dict[str, Any]) -> Benchmark:
    """The benchmark of a document, under the name that it has on this site.

    Raises:
        InvalidArgument: if its form is wrong, or it unites a benchmark that there is not.
    """
    return replace(document.read(data, _member), name=name)


def _member(name: str, version: int) -> Benchmark:
    """A version of one of the benchmarks that come with gemweb."""
    present = benchmarks.load(name)
    if present.version == version:
        return present
    found = benchmarks.earlier(name, version)
    if found is None:
        raise UsageError(f"There is no version {version} of the benchmark {name}.")
    return found


@lru_cache(KEPT)
def _read(version_id: int, name: str) -> Benchmark:
    """A version, which never changes."""
    return named(name, BenchmarkVersion.objects.values_list("document", flat=True).get(pk=version_id))
