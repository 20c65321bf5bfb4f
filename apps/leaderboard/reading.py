"""Benchmarks by their names, for pages and the API."""

from __future__ import annotations

from django.http import Http404

from gem import benchmarks
from gem.benchmarks import Benchmark
from gem.errors import UsageError


def find_benchmark(name: str) -> Benchmark:
    """The present version of the benchmark with this name, if whoever asks may know of it (`apps.benchmarks.sources`).

    Raises:
        Http404: there is none.
    """
    try:
        return benchmarks.load(name)
    except UsageError as error:
        raise Http404(str(error)) from error
