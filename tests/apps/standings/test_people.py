"""People as rows of a benchmark: first tries on seeds of their own, one row for all and one for each who wants it."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.episodes.models import Episode, Seat
from apps.leaderboard import ranked_play
from apps.seasons.operations import current
from apps.standings import people
from gem import benchmarks
from tests.apps.seasons import ENV_IDS, NAME, shorten
from tests.html import tight


@pytest.fixture(autouse=True)
def short(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark of two environments."""
    shorten(monkeypatch)


def play(user: User, env_id: str, reward: float, status: str = "ended") -> Episode:
    """A ranked episode of a person with this return."""
    episode = ranked_play.begin(benchmarks.load(NAME), user, "", env_id=env_id)
    Episode.objects.filter(pk=episode.pk).update(status=status, success=reward > 0.5)
    Seat.objects.filter(episode=episode).update(total_reward=reward)
    return episode


def rows(env_id: str = "") -> list[people.PeopleRow]:
    people.refresh()
    return people.rows_of(current(benchmarks.load(NAME)), env_id)


def test_all_people_are_one_row_and_those_who_want_it_have_their_own() -> None:
    ann, bob = (User.objects.create_user(name) for name in ("ann", "bob"))
    assert rows() == []
    for env_id in ENV_IDS:
        play(ann, env_id, 1.0)
    play(bob, ENV_IDS[0], 0.0)
    (everybody,) = rows()
    assert (everybody.name, everybody.people, everybody.n) == ("all people", 2, 3)
    assert everybody.score is not None
    assert everybody.low is None  # two people say nothing of the spread
    User.objects.filter(pk__in=[ann.pk, bob.pk]).update(is_named=True)
    assert [row.name for row in people.rows_of(current(benchmarks.load(NAME)))] == ["all people", "ann", "bob"]
    own = people.rows_of(current(benchmarks.load(NAME)))[2]
    assert own.score is None
    assert "have not been played" in own.reason
    page = tight(Client().get(reverse("standings:people"), {"benchmark": NAME}))
    assert "ann" in page
    User.objects.filter(pk=ann.pk).update(is_named=False)
    assert "ann<" not in tight(Client().get(reverse("standings:people"), {"benchmark": NAME}))


def test_a_person_is_one_observation_among_all() -> None:
    ann, bob = (User.objects.create_user(name) for name in ("ann", "bob"))
    for reward in (1.0, 1.0, 1.0):
        play(ann, ENV_IDS[0], reward)
    play(bob, ENV_IDS[0], 0.0)
    (everybody,) = rows(ENV_IDS[0])
    assert (everybody.people, everybody.n) == (2, 4)


def test_what_is_left_counts_after_a_day_and_hints_and_guests_never() -> None:
    ann = User.objects.create_user("ann")
    left = play(ann, ENV_IDS[0], 0.25, status="running")
    assert rows(ENV_IDS[0]) == []
    Episode.objects.filter(pk=left.pk).update(created=Now() - timedelta(days=2), seq=99)
    assert [row.n for row in rows(ENV_IDS[0])] == [1]
    helped = play(ann, ENV_IDS[0], 1.0)
    Seat.objects.filter(episode=helped).update(advised=True)
    guest = play(ann, ENV_IDS[0], 1.0)
    Seat.objects.filter(episode=guest).update(user=None, visitor="somebody")
    assert [row.n for row in rows(ENV_IDS[0])] == [1]
