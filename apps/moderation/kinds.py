"""The kinds of content that can be reported and hidden. Apps register theirs in `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import models

from apps.accounts.models import Viewer
from apps.visibility import VisibleQuerySet


@dataclass(frozen=True, slots=True)
class ModeratedKind:
    """A kind of content, and where it is in addresses."""

    name: str
    """As in addresses and reports: `episode`."""
    rows: Callable[[], VisibleQuerySet[Any]]
    """All rows of this kind."""
    key: str
    """The field that names a row in addresses: `pk` or `slug`."""
    parameters: Mapping[str, str]
    """The parameters of addresses that name a row of this kind, with the field that each is compared with."""
    spaces: frozenset[str] = frozenset()
    """The apps whose addresses these are; empty for all."""
    parts: Callable[[Any], models.QuerySet[Any]] | None = None
    """The rows that hold the reason, if hiding one of this kind means to hide its parts; None for the row itself."""

    @property
    def title(self) -> str:
        """Its name in sentences, such as `reported row`; `training` of those that run outside."""
        return self.name.removeprefix("outside-").replace("-", " ")

    def mark(self, row: models.Model, reason: str) -> None:
        """Hide a row, with the reason that its owner reads; show it again if the reason is empty."""
        for tell in _WATCHERS.get(self.name, ()):
            tell(row)
        marked = self.rows().filter(pk=row.pk) if self.parts is None else self.parts(row)
        marked.update(hidden_reason=reason)

    def seen_by(self, viewer: Viewer, visitor: str = "") -> VisibleQuerySet[Any]:
        """The rows that this person may open, who has an account or the key of a visitor, or neither."""
        return self.rows().visible_to(viewer, visitor)

    def named(self, keys: Iterable[str], viewer: Viewer) -> dict[str, Any]:
        """The rows with these keys that this person may open, by their keys."""
        rows = self.seen_by(viewer).filter(**{f"{self.key}__in": set(keys)})
        return {str(getattr(row, self.key)): row for row in rows}

    def find(self, key: str, viewer: Viewer, visitor: str = "") -> Any | None:
        """The row with this key, if this person may open it; None otherwise."""
        return self.seen_by(viewer, visitor).filter(**{self.key: key}).first()


_KINDS: dict[str, ModeratedKind] = {}
_WATCHERS: dict[str, list[Callable[[Any], None]]] = {}


def register(kind: ModeratedKind) -> None:
    """Add a kind. Called in `AppConfig.ready`."""
    _KINDS[kind.name] = kind


def watch(name: str, tell: Callable[[Any], None]) -> None:
    """Have a function called with each row of a kind that is about to be hidden or shown, in the same transaction."""
    _WATCHERS.setdefault(name, []).append(tell)


def kinds() -> list[ModeratedKind]:
    """All kinds."""
    return list(_KINDS.values())


def kind_named(name: str) -> ModeratedKind | None:
    """The kind with this name; None if there is none."""
    return _KINDS.get(name)


def named_in(space: str, parameters: Mapping[str, Any]) -> Iterator[tuple[ModeratedKind, str, Any]]:
    """What the parameters of an address of an app name: each kind, the field to compare, and the value."""
    for kind in _KINDS.values():
        if not kind.spaces or space in kind.spaces:
            for name, field in kind.parameters.items():
                if name in parameters:
                    yield kind, field, parameters[name]
