"""Ranked episodes of people that begin at the same moment as another one, or as the end of their season."""

from __future__ import annotations

from typing import Any

import pytest

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.episodes import operations as episodes
from apps.episodes.errors import EpisodeEnded, TurnTaken
from apps.episodes.models import Batch, Episode
from apps.leaderboard import human_tries, ranked_play
from apps.leaderboard.seasons import reveal
from apps.seasons import operations
from apps.seasons.models import Season
from gem import benchmarks
from tests.apps.meanwhile import Elsewhere, meanwhile
from tests.apps.seasons import NAME, end, shorten

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def season(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Season:
    """The running season of a short benchmark."""
    Agent.objects.get_or_create(slug="human", defaults={"name": "human", "kind": "human", "colour": 8})
    shorten(monkeypatch)
    return operations.current(benchmarks.load(NAME))


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def begin(user: User) -> Episode:
    return ranked_play.begin(benchmarks.load(NAME), user, "")


def test_two_first_episodes_at_once_do_not_double_the_seeds_of_a_person(ada: User) -> None:
    other = Elsewhere(lambda: begin(ada))
    with meanwhile('INTO "episodes_episode"', other) as it:
        first = begin(ada)
    other.end()
    assert it.happened
    assert isinstance(other.refusal, TurnTaken)
    assert begin(ada).batch == first.batch
    assert Batch.objects.count() == 1


def test_a_refused_first_episode_leaves_nothing(ada: User) -> None:
    with pytest.raises(human_tries.NoSeedLeft):
        ranked_play.begin(benchmarks.load(NAME), ada, "", env_id="game:Sudoku-v0-hard")
    assert not Batch.objects.exists()


def test_an_episode_that_begins_while_its_season_is_revealed_keeps_no_hidden_number(
    ada: User, season: Season, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(ada)
    draft = episodes.draft

    def draft_slowly(*arguments: Any, **more: Any) -> Episode:
        drafted = draft(*arguments, **more)
        assert reveal(end(season))
        return drafted

    monkeypatch.setattr(episodes, "draft", draft_slowly)
    with pytest.raises(EpisodeEnded, match="have just been published"):
        begin(ada)
    assert not Episode.objects.filter(seed__lt=0, batch__closed=False).exists()
