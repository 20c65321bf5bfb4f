"""An environment that breaks in the middle of a person's episode: recorded as its failure, never as theirs."""

from collections.abc import Iterator
from typing import Any

import pytest

import gem
from apps.episodes.models import Episode
from gem.envs.games.guess_the_number import GuessTheNumber
from gem.registry import ENV_REGISTRY
from tests.apps.play.people import BOX, Person

BROKEN = "test:Broken-v0"


class Broken(GuessTheNumber):
    """Breaks at the number 13."""

    def _play(self, match: str) -> Any:
        if match == "13":
            raise ZeroDivisionError("13 was not foreseen")
        return super()._play(match)


@pytest.fixture
def broken() -> Iterator[None]:
    gem.register(BROKEN, Broken, cost="fast")
    yield
    del ENV_REGISTRY[BROKEN]


@pytest.mark.django_db
def test_it_ends_as_the_environments_failure(broken: None) -> None:
    person = Person()
    episode = person.begin(BROKEN, 7)
    person.send(episode, BOX % 5)
    answer = person.send(episode, BOX % 13)
    episode.refresh_from_db()
    assert answer.status_code == 200
    assert "The environment failed after turn 1." in answer.content.decode()
    assert (episode.outcome, episode.turn_count, episode.success) == (Episode.Outcome.ERROR, 1, None)
    assert "ZeroDivisionError: 13 was not foreseen" in episode.failure
    assert person.client.get(episode.get_absolute_url()).status_code == 200
