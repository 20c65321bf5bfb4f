"""Pages of lists: `limit` rows after a `cursor`, which is the place of the last row of the page before."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeVar

from django.db import models
from django.db.models import Q
from ninja import Query

from apps.api.problems import Invalid

MAX_LIMIT = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MICROSECOND = 10**17
Row = TypeVar("Row", bound=models.Model)
Item = TypeVar("Item")
Limit = Annotated[int, Query(50, ge=1, le=MAX_LIMIT, description="The most items of a page.")]
Cursor = Annotated[str, Query("", max_length=200, description="The `next` of the previous page; empty for the first.")]
After = Annotated[str, Query("", max_length=200, description="The number of the last one you have; empty for all.")]


def newest_first(
    rows: models.QuerySet[Row], cursor: str, limit: int, *, number_keys: bool = False
) -> tuple[list[Row], str | None]:
    """A page of rows by the time at which they were created, and the cursor of the next page.

    Args:
        number_keys: whether the primary keys are numbers.

    Raises:
        Invalid: if the cursor is none.
    """
    if cursor:
        created, key = _read_place(cursor, number_keys=number_keys)
        rows = rows.filter(created__lte=created).filter(Q(created__lt=created) | Q(pk__lt=key))
    page = list(rows.order_by("-created", "-pk")[: limit + 1])
    has_more, page = len(page) > limit, page[:limit]
    return page, _place_of(page[-1]) if has_more else None


def by_number(rows: models.QuerySet[Row], field: str, cursor: str, limit: int) -> tuple[list[Row], str | None]:
    """A page of rows by a number of theirs, from the smallest, and the cursor of the next page.

    Raises:
        Invalid: if the cursor is none.
    """
    after = read_number(cursor)
    if after is not None:
        rows = rows.filter(**{f"{field}__gt": after})
    page = list(rows.order_by(field)[: limit + 1])
    has_more, page = len(page) > limit, page[:limit]
    return page, str(getattr(page[-1], field)) if has_more else None


def of_list(items: Sequence[Item], cursor: str, limit: int) -> tuple[Sequence[Item], str | None]:
    """A page of a list that is in memory, whose cursors are positions.

    Raises:
        Invalid: if the cursor is none.
    """
    start = read_number(cursor) or 0
    end = start + limit
    return items[start:end], str(end) if end < len(items) else None


def read_number(cursor: str) -> int | None:
    """The number that a cursor is; None if it is empty.

    Raises:
        Invalid: if it is no number.
    """
    if not cursor:
        return None
    if not (cursor.isascii() and cursor.isdecimal() and len(cursor) < 10):
        raise bad_cursor()
    return int(cursor)


def read_after(after: str) -> int:
    """The number that a request wants to go on after; 0 if it is left out.

    Raises:
        Invalid: if it is no number.
    """
    try:
        return read_number(after) or 0
    except Invalid as error:
        sentence = "after has to be the number of the last one that you have. Leave it out to begin with the first."
        raise Invalid([("after", sentence)]) from error


def bad_cursor() -> Invalid:
    """The refusal of a cursor that no page has as its `next`."""
    return Invalid([("cursor", "This is not the `next` of a page. Leave it out to begin with the first page.")])


def _place_of(row: Any) -> str:
    return f"{(row.created - _EPOCH) // timedelta(microseconds=1)}-{row.pk}"


def _read_place(cursor: str, *, number_keys: bool) -> tuple[datetime, str]:
    time, _, key = cursor.partition("-")
    is_time = time.isascii() and time.isdecimal() and len(time) <= 17 and int(time) <= _LAST_MICROSECOND
    is_key = key.isascii() and (key.isdecimal() and len(key) < 19 if number_keys else key.replace("-", "").isalnum())
    if not (is_time and is_key):
        raise bad_cursor()
    return _EPOCH + timedelta(microseconds=int(time)), key
