"""A person's ranked episodes in a season, beside the agents' rows."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.episodes.models import Episode, Seat
from apps.leaderboard import ranked_play, season_tries
from apps.seasons.models import Season
from apps.seasons.operations import current
from gem import benchmarks
from tests.apps.seasons import ENV_IDS, NAME, shorten
from tests.html import tight


@pytest.fixture(autouse=True)
def short(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A benchmark of two environments."""
    shorten(monkeypatch)


def play(user: User, env_id: str, reward: float, status: str = "ended") -> Seat:
    """A ranked episode of a person with this return."""
    episode = ranked_play.begin(benchmarks.load(NAME), user, "", env_id=env_id)
    Episode.objects.filter(pk=episode.pk).update(status=status, success=reward > 0.5)
    Seat.objects.filter(episode=episode).update(total_reward=reward)
    return Seat.objects.select_related("episode").get(episode=episode)


def page_of(user: User) -> str:
    client = Client()
    client.force_login(user)
    return tight(client.get(reverse("leaderboard:yours"), {"benchmark": NAME}))


def test_the_page_has_ones_own_ranked_episodes_and_nobody_elses() -> None:
    ann, bob = (User.objects.create_user(name) for name in ("ann", "bob"))
    current(benchmarks.load(NAME))
    assert "You have not played a ranked seed in this season yet" in page_of(ann)
    own, other = play(ann, ENV_IDS[0], 0.75), play(bob, ENV_IDS[0], 0.25)
    page = page_of(ann)
    assert own.episode.get_absolute_url() in page
    assert other.episode.get_absolute_url() not in page
    assert "You have not played" not in page
    assert "0.75" in page
    assert "no agent yet" in page


def test_what_does_not_count_says_why_and_is_no_part_of_the_means() -> None:
    ann = User.objects.create_user("ann")
    benchmark = benchmarks.load(NAME)
    season = current(benchmark)
    seats = [play(ann, ENV_IDS[0], 1.0), play(ann, ENV_IDS[0], 0.0), play(ann, ENV_IDS[0], 0.5, "running")]
    Seat.objects.filter(pk=seats[1].pk).update(advised=True)
    own = season_tries.own_seats(season, ann, "")
    (only,) = season_tries.by_environment(benchmark, season, own)
    assert (only.count, only.mean_return.mean, only.hidden) == (1, 1.0, season.hidden[ENV_IDS[0]])
    page = page_of(ann)
    assert "does not count: the expert gave a hint" in page
    assert "does not count: it is your turn" in page
    Episode.objects.filter(pk=seats[2].episode_id).update(created=F("created") - 2 * timedelta(days=1))
    (only,) = season_tries.by_environment(benchmark, season, own)
    assert (only.count, only.mean_return.mean) == (2, 0.75)


def test_reasons_and_what_counts_agree() -> None:
    ann = User.objects.create_user("ann")
    season = current(benchmarks.load(NAME))
    Season.objects.filter(pk=season.pk).update(hidden=dict.fromkeys(season.hidden, 9))
    changes = [{}, {"taken_over": True}, {"hidden_reason": "x"}, {"status": "failed"}, {"status": "running"}]
    for change in changes:
        seat = play(ann, ENV_IDS[0], 1.0)
        Episode.objects.filter(pk=seat.episode_id).update(**change)
    own = season_tries.own_seats(season, ann, "")
    counted = set(season_tries.counted(own).values_list("pk", flat=True))
    assert counted == {seat.pk for seat in own if not season_tries.why_not(seat)}
    assert len(counted) == 1
