"""Agents, episodes to watch, and real processes on the test database."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.live.processes import Fleet, fleet_on, test_database_url

if TYPE_CHECKING:
    from apps.agents.models import Agent
    from apps.episodes.models import Episode

SEED = 2
"""With it the secret of GuessTheNumber-v0-hard is none of the numbers that the tests guess."""


@pytest.fixture
def agents(transactional_db: None) -> dict[str, Agent]:
    """The built-in agents, which an earlier test may have swept away with everything else."""
    from apps.agents.models import Agent

    names = {"random": 8, "expert": 3, "human": 2}
    return {
        name: Agent.objects.get_or_create(slug=name, defaults={"name": name, "kind": name, "colour": colour})[0]
        for name, colour in names.items()
    }


@pytest.fixture
def episode(agents: dict[str, Agent]) -> Episode:
    """A running episode in which a person sits."""
    from apps.episodes import operations

    visitor = "a" * 32
    seat = operations.Occupant(agents["human"], visitor=visitor)
    return operations.begin("game:GuessTheNumber-v0", seed=SEED, seats=[seat])


@pytest.fixture
def take_turns() -> Callable[..., None]:
    """Take so many turns that do not end the episode: guesses of a number, by default one out of range."""
    from django.db import transaction

    from apps.episodes import operations
    from apps.episodes.restore import restore

    def _take(episode: Episode, count: int, number: int = 99) -> None:
        for _ in range(count):
            with transaction.atomic():
                locked = operations.lock(episode.id)
                operations.record_turn(locked, restore(locked), f"\\boxed{{{number}}}")

    return _take


@pytest.fixture
def fleet(agents: dict[str, Agent]) -> Iterator[Fleet]:
    """Real processes on the test database, ended with the test."""
    with fleet_on(test_database_url()) as fleet:
        yield fleet
