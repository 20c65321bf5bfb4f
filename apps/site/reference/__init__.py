"""The API reference as Markdown: `modules` writes a page for each module of the engine, `rest` that of the REST API.

The pages are written from docstrings and from the OpenAPI document when somebody opens them, so none is out of date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from apps.site.reference import modules, rest


@dataclass(frozen=True, slots=True)
class ReferencePage:
    """A page of the reference."""

    slug: str
    """Its address below `/docs/`, such as `reference/gem.core`."""
    file: str
    """What it is written from."""
    modified_ns: int
    """When that changed last."""
    write: Callable[[], str]
    """Returns the page as Markdown."""


def pages() -> Iterator[ReferencePage]:
    """All pages: the REST API first, then the modules."""
    yield ReferencePage("reference/rest", "openapi.json", 0, rest.page)
    for name in modules.NAMES:
        path = modules.path_of(name)
        yield ReferencePage(
            f"reference/{name}",
            modules.file_of(name),
            path.stat().st_mtime_ns,
            lambda name=name: modules.page(name),  # type: ignore[misc]  # a default argument binds the name
        )
