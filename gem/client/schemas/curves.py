"""Trainings that run elsewhere: how one begins, what it sends, and its curves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, field_serializer, field_validator

from gem.client.schemas.base import Answer, Body, Id, Visibility
from gem.validation.messages import refused
from gem.validation.whole import Whole

MOST_ENTRIES = 2_000
Name = Annotated[str, Field(min_length=1, max_length=80)]


class NewOutsideTraining(Body):
    """A training elsewhere to begin, or to continue with if there is one with this key in this project."""

    project: Name
    key: Name
    """The name that your program gives it. A request with the same key continues the same training."""
    name: Annotated[str, Field(max_length=80)] = ""
    """Its name on pages; the key if it is empty."""
    group: Annotated[str, Field(max_length=80)] = ""
    config: dict[str, Any] = {}
    """Its settings. Trainings whose settings differ only in their seed are one curve in comparisons."""
    visibility: Visibility | None = None


class OutsideTraining(Answer):
    """A training elsewhere. What it says is reported: the site has not checked it."""

    id: Id
    url: str
    project: str
    key: str
    name: str
    group: str
    owner: str
    source: Literal["trackio", "api"]
    visibility: Visibility
    state: Literal["running", "finished", "crashed"]
    """As its program has said; one that dies says nothing."""
    reason: str
    config: dict[str, Any]
    entries: int
    """How many are stored; the number of the last one."""
    last_step: int | None
    latest: dict[str, float]
    """The last value of each metric that arrived."""
    transcripts: int
    notes: list[str]
    """The things that were sent and not kept, as sentences."""
    created: datetime
    heard: datetime
    """When something last arrived."""


class OutsideTrainingPage(Answer):
    """Trainings elsewhere, the newest first."""

    items: list[OutsideTraining]
    next: str | None = None


class NewEntry(Body):
    """Metrics of a step."""

    metrics: dict[str, Any]
    """Numbers by name. Nested objects are joined by slashes; `trackio.trace` and `trackio.table` become transcripts.

    In Python, a number may be one of NumPy or a tensor with one element. One that is not finite is sent as "NaN",
    "Infinity" or "-Infinity", which JSON does not have: it is not drawn, and the page says at which step it came.
    """
    step: Annotated[Whole, Field(ge=-(2**53), le=2**53)] | None = None
    """The step after the last one if it is left out."""
    time: Annotated[float, Field(ge=0, le=4_102_444_800)] | None = None
    """When it was logged, in seconds since 1970; now if it is left out."""
    id: Annotated[str, Field(max_length=200)] = ""
    """An entry with the same id is stored once; without one, equal entries are one."""

    @field_validator("metrics", mode="before")
    @classmethod
    def _take_numbers_of_arrays(cls, metrics: Any) -> Any:
        return _plain(metrics, "metrics") if isinstance(metrics, Mapping) else metrics

    @field_serializer("metrics", when_used="json")
    def _name_what_json_has_not(self, metrics: dict[str, Any]) -> dict[str, Any]:
        return _with_names(metrics)


def _plain(value: Any, place: str) -> Any:
    """Values as JSON has them: numbers of NumPy and tensors with one element become numbers."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each, f"{place}.{name}") for name, each in value.items()}
    if value is None or isinstance(value, bool | int | float | str | list | tuple):
        return value
    try:
        return value.item()
    except (AttributeError, TypeError, ValueError, RuntimeError):
        kind = type(value).__name__
        raise refused(f"{place} has to be a number, not {kind}: send its mean, for example.") from None


def _with_names(metrics: Mapping[str, Any]) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            named[name] = _with_names(value)
        elif isinstance(value, float) and not math.isfinite(value):
            named[name] = "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        else:
            named[name] = value
    return named


class NewEntries(Body):
    """Entries of a training elsewhere, in any order."""

    entries: Annotated[list[NewEntry], Field(max_length=MOST_ENTRIES)]


class EntriesStored(Answer):
    """The numbers of entries that were stored. They are on disk when this is answered."""

    stored: int
    repeated: int
    """Entries that were stored already."""
    entries: int
    """How many the training has now."""


class OutsideEnd(Body):
    """How a training elsewhere ended."""

    state: Literal["finished", "crashed"]
    reason: Annotated[str, Field(max_length=2000)] = ""


class OutsidePoints(Answer):
    """The points that arrived after an entry, as columns of equal length, ordered by step."""

    last: int
    """The last entry in it: ask for those after it next."""
    over: bool
    whole: bool
    """Whether these are all points, which replace what was read before."""
    steps: list[int]
    seconds: list[float]
    metrics: dict[str, list[float | None]]
