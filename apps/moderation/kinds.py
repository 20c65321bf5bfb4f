"""The kinds of content that can be reported and hidden. Apps register theirs in `AppConfig.ready`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from apps.accounts.models import Viewer
from apps.moderation.moderated import ModeratedQuerySet, may_open


@dataclass(frozen=True, slots=True)
class ModeratedKind:
    """A kind of content, and where it is in addresses."""

    name: str
    """As in addresses and reports: `episode`."""
    seen_by: Callable[[Viewer], ModeratedQuerySet[Any]]
    """The rows that somebody may know of, apart from whether they are hidden."""
    key: str
    """The field that names a row in addresses: `pk` or `slug`."""
    parameters: Mapping[str, str]
    """The parameters of addresses that name a row of this kind, with the field that each is compared with."""
    spaces: frozenset[str] = frozenset()
    """The apps whose addresses these are; empty for all."""

    def find(self, key: str, viewer: Viewer) -> Any | None:
        """The row with this key, if this person may open it; None otherwise."""
        row = self.seen_by(viewer).filter(**{self.key: key}).first()
        return row if row is not None and may_open(row, viewer) else None


_KINDS: dict[str, ModeratedKind] = {}


def register(kind: ModeratedKind) -> None:
    """Add a kind. Called in `AppConfig.ready`."""
    _KINDS[kind.name] = kind


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
