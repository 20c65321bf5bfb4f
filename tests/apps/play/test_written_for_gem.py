"""An environment written for GEM, with only `reset` and `step`, is listed, looked at and played in the browser."""

from collections.abc import Iterator

import pytest

import gem
from apps.catalog.previews import preview
from apps.episodes import operations
from gem.registry import ENV_REGISTRY
from tests.apps.play.people import Person

ENV_ID, SORTING = "custom:Countdown-v0", "custom:Sorting-v0"


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    gem.register(ENV_ID, "tests.engine.written_for_gem:Countdown", max_turns=4, cost="fast")
    gem.register(SORTING, "tests.engine.written_for_gem:Sorting", cost="fast")
    yield
    del ENV_REGISTRY[ENV_ID], ENV_REGISTRY[SORTING]


@pytest.mark.django_db
def test_its_text_is_the_board_and_every_turn_is_kept() -> None:
    person = Person()
    episode = person.begin(ENV_ID, 3)
    page = person.client.get(episode.get_absolute_url()).content.decode()
    assert "Guess from 1 to 9.\nYour guess?" in page
    for turn, guess in enumerate(["10", "11", "12", "13"], start=1):
        assert person.send(episode, guess).status_code == 200
        episode.refresh_from_db()
        assert episode.turn_count == turn
    assert (episode.over, episode.terminated, episode.truncated) == (True, False, True)
    assert operations.verify(episode) is None


@pytest.mark.django_db
def test_the_catalog_shows_it_though_nobody_but_a_person_can_play_it() -> None:
    seen = preview(SORTING, wait=30)
    assert (seen.state, seen.sample and seen.sample.action) == ("ready", "")
    page = Person().client.get(f"/environments/{SORTING}/").content.decode()
    assert "Sort the letters" in page
    assert "<mark></mark>" not in page
