"""Pages of the lists of episodes and of jobs. Links name a place, so a deep page costs no more than the first one.

A place is the time and the id of a row: `?before=` begins after it, `?after=` ends before it. Addresses with a
number (`?page=7`), which earlier versions linked to, still lead to that page, or to `MAX_PAGE` if theirs is deeper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Generic, Protocol, TypeVar, cast

from django.db import models
from django.db.models import Q

from apps.episodes.models import ID_LENGTH

MAX_PAGE = 100
"""The last page that has a number: the database reads everything before it. Its links lead on."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MICROSECOND = 10**17
"""Some time in the year 5138. Later ones are no places."""


class Listed(Protocol):
    """A row of a list: an episode or a job."""

    pk: str
    created: datetime


Row = TypeVar("Row", bound=models.Model)
Matches = TypeVar("Matches", bound="models.QuerySet[Any]")


@dataclass(frozen=True, slots=True)
class Page(Generic[Row]):
    """A page of the list, newest rows first."""

    rows: list[Row]
    number: int | None
    """Its number, if its address has one; the first page is 1."""
    before: str | None
    """The place after which the next, older page begins; None on the last page."""
    after: str | None
    """The place before which the previous, newer page ends; None on the first page."""


def place_of(row: Listed) -> str:
    """The place of a row in its list, for addresses."""
    return f"{(row.created - _EPOCH) // timedelta(microseconds=1)}-{row.pk}"


def page_of(
    matches: Matches,
    asked: Mapping[str, str],
    shown: Callable[[Matches], models.QuerySet[Row]],
    size: int,
    *,
    at_once: bool = False,
) -> Page[Row]:
    """The page that an address asks for by `before`, `after` or `page`; the first page otherwise.

    Args:
        matches: the rows of the list.
        shown: adds to rows what the page shows of them.
        size: rows on a page.
        at_once: read keys and rows in one query, which is faster where the database need not sort the matches.
    """

    def rows_of(ordered: Matches, start: int = 0) -> list[Row]:
        """The rows of a page and one more, if there is one. Of those that are passed over, only keys are read."""
        if at_once and start == 0:
            return list(shown(ordered)[: size + 1])
        keys = list(ordered.values_list("pk", flat=True)[start : start + size + 1])
        everything = cast("Matches", matches.model._default_manager.all())  # noqa: SLF001 (Django documents it)
        found = shown(everything).in_bulk(keys)
        return [found[key] for key in keys if key in found]

    ordered = matches.order_by("-created", "id")
    if older := beyond(asked.get("before", ""), newer=False):
        return _page(rows_of(ordered.filter(older)), size, is_first=False)
    if newer := beyond(asked.get("after", ""), newer=True):
        rows = rows_of(matches.filter(newer).order_by("created", "-id"))
        if len(rows) > size:
            return _page([*reversed(rows[:size]), rows[0]], size, is_first=False)
        return _page(rows_of(ordered), size, is_first=True, number=1)  # fewer are newer than fit on the first page
    number = page_number(asked.get("page", ""))
    return _page(rows_of(ordered, (number - 1) * size), size, is_first=number == 1, number=number)


def _page(rows: list[Row], size: int, *, is_first: bool, number: int | None = None) -> Page[Row]:
    """The page of these rows, the last of which only says that there are more."""
    shown = rows[:size]
    return Page(
        shown,
        number,
        before=place_of(cast("Listed", shown[-1])) if len(rows) > size else None,
        after=place_of(cast("Listed", shown[0])) if shown and not is_first else None,
    )


def beyond(place: str, *, newer: bool) -> Q | None:
    """The rows on one side of a place; None if it is no place."""
    time, _, key = place.partition("-")
    is_place = time.isascii() and time.isdecimal() and len(time) <= 17 and len(key) == ID_LENGTH and key.isalnum()
    if not is_place or int(time) > _LAST_MICROSECOND:
        return None
    created = _EPOCH + timedelta(microseconds=int(time))
    if newer:
        return Q(created__gte=created) & (Q(created__gt=created) | Q(pk__lt=key))
    return Q(created__lte=created) & (Q(created__lt=created) | Q(pk__gt=key))


def page_number(text: str) -> int:
    """The number of a page; 1 if it is none."""
    return min(MAX_PAGE, max(1, int(text[:9]))) if text.isascii() and text.isdecimal() else 1
