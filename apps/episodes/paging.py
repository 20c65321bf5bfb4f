"""Pages of the list of episodes. Their links name a place in it, so that a deep page costs no more than the first.

A place is the time and the id of an episode: `?before=` begins after it, `?after=` ends before it. Addresses with a
number (`?page=7`), which earlier versions linked to, still lead to that page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db.models import Q

from apps.episodes.models import ID_LENGTH, Episode, EpisodeQuerySet

PAGE_SIZE = 50
"""Episodes on a page."""
MAX_PAGE = 10_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST_MICROSECOND = 10**17
"""Some time in the year 5138. Later ones are no places."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the list, newest episodes first."""

    episodes: list[Episode]
    number: int | None
    """Its number, if its address has one; the first page is 1."""
    before: str | None
    """The place after which the next, older page begins; None on the last page."""
    after: str | None
    """The place before which the previous, newer page ends; None on the first page."""


def place_of(episode: Episode) -> str:
    """The place of an episode in the list, for addresses."""
    return f"{(episode.created - _EPOCH) // timedelta(microseconds=1)}-{episode.pk}"


def page_of(matches: EpisodeQuerySet, asked: Mapping[str, str], size: int = PAGE_SIZE) -> Page:
    """The page of these episodes that an address asks for by `before`, `after` or `page`; the first page otherwise."""
    ordered = matches.order_by("-created", "id")
    if older := beyond(asked.get("before", ""), newer=False):
        return _page(_rows(ordered.filter(older), size), size, is_first=False)
    if newer := beyond(asked.get("after", ""), newer=True):
        rows = _rows(matches.filter(newer).order_by("created", "-id"), size)
        if len(rows) > size:
            return _page([*reversed(rows[:size]), rows[0]], size, is_first=False)
        return _page(_rows(ordered, size), size, is_first=True, number=1)  # fewer are newer than fit on the first page
    number = _number(asked.get("page", ""))
    return _page(_rows(ordered, size, (number - 1) * size), size, is_first=number == 1, number=number)


def _rows(ordered: EpisodeQuerySet, size: int, start: int = 0) -> list[Episode]:
    """The episodes of a page and one more, if there is one. Only their keys are read of those that are passed over."""
    keys = list(ordered.values_list("pk", flat=True)[start : start + size + 1])
    found = Episode.objects.with_seats().select_related("batch").in_bulk(keys)
    return [found[key] for key in keys if key in found]


def _page(rows: list[Episode], size: int, *, is_first: bool, number: int | None = None) -> Page:
    """The page of these rows, the last of which only says that there are more."""
    shown = rows[:size]
    return Page(
        shown,
        number,
        before=place_of(shown[-1]) if len(rows) > size else None,
        after=place_of(shown[0]) if shown and not is_first else None,
    )


def beyond(place: str, *, newer: bool) -> Q | None:
    """The episodes on one side of a place; None if it is no place."""
    time, _, key = place.partition("-")
    is_place = time.isascii() and time.isdecimal() and len(time) <= 17 and len(key) == ID_LENGTH and key.isalnum()
    if not is_place or int(time) > _LAST_MICROSECOND:
        return None
    created = _EPOCH + timedelta(microseconds=int(time))
    if newer:
        return Q(created__gte=created) & (Q(created__gt=created) | Q(pk__lt=key))
    return Q(created__lte=created) & (Q(created__lt=created) | Q(pk__gt=key))


def _number(text: str) -> int:
    """The number of a page; 1 if it is none."""
    return min(MAX_PAGE, max(1, int(text))) if text.isascii() and text.isdecimal() and len(text) < 6 else 1
