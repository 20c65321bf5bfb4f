"""Benchmarks that people add."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from gem.client.schemas.base import Answer, Body, Visibility


class NewBenchmark(Body):
    """A benchmark to add, or a version of one."""

    document: dict[str, Any]
    """The file, as `gemweb benchmark check` reads it. Behind the name of its owner, its `name` is that on the site."""
    visibility: Visibility | None = None
    """The visibility, `private` by default. A new version keeps that of the earlier ones, and a public benchmark cannot
    be made private again."""


class BenchmarkVersion(Answer):
    """A version of a benchmark, which is never changed."""

    number: int
    state: Literal["checking", "ready", "refused"]
    """A worker checks a version before anything is played."""
    problems: list[str]
    """All reasons for which it was refused."""
    notes: list[str]
    """The reasons why it cannot be played on this site."""
    created: datetime | None
    """Null if it comes with gemweb."""


class OwnBenchmark(Answer):
    """A benchmark with its versions: one of a person, or one that comes with gemweb."""

    name: str
    """Such as `ada.chess`: what jobs and addresses call it."""
    owner: str | None
    """Null if it comes with gemweb."""
    visibility: Visibility
    versions: list[BenchmarkVersion]
    """The newest first."""
    created: datetime | None
    url: str
