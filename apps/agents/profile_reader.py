"""What the page of an agent shows of its results: an upper app registers how to read it, because it knows jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from django.http import HttpRequest

from apps.agents.models import Agent

Reader: TypeAlias = Callable[[HttpRequest, Agent], dict[str, Any]]
ListReader: TypeAlias = Callable[[Iterable[Agent]], dict[int, Any]]
_READERS: list[Reader] = []
_LIST_READERS: list[ListReader] = []


def register(reader: Reader, list_reader: ListReader) -> None:
    """Add a function that returns a part of the context of the page, and one for the rows of the list.

    Apps call this in `AppConfig.ready`.
    """
    _READERS.append(reader)
    _LIST_READERS.append(list_reader)


def profile_of(request: HttpRequest, agent: Agent) -> dict[str, Any]:
    """What templates/standings/profile.html shows of an agent to whoever asks."""
    context: dict[str, Any] = {}
    for reader in _READERS:
        context |= reader(request, agent)
    return context


def results_of(agents: Iterable[Agent]) -> dict[int, Any]:
    """What the list of agents shows of the results of each, by its key; nothing of those without results."""
    rows = [*agents]
    found: dict[int, Any] = {}
    for reader in _LIST_READERS:
        found |= reader(rows)
    return found
