"""Shows: what people may do with them, and what the hosts do, on the real database."""

import uuid
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.db.models.functions import Now

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.episodes import operations
from apps.episodes.errors import EpisodeEnded, NotFound
from apps.episodes.models import Episode
from apps.leases import LeaseLost
from apps.play.models import Show, Showcase
from apps.play.shows import operations as shows
from apps.play.shows import show_leases, showcase
from gem.agents import Decision

ENV_ID = "game:GuessTheNumber-v0"
pytestmark = pytest.mark.usefixtures("long_leases")
Agents = dict[str, Agent]


@pytest.fixture
def show(agents: Agents) -> Episode:
    """A show that is due now."""
    episode = shows.start(ENV_ID, agents["random"], seed=2, pace=0.1, visitor="b" * 32)
    make_due(episode)
    return episode


def make_due(episode: Episode) -> None:
    Show.objects.filter(pk=episode.pk).update(next_turn_at=Now())


def claim_one(episode: Episode) -> uuid.UUID:
    token = uuid.uuid4()
    assert show_leases.claim(token, 10, showcase=False) == [episode.id]
    return token


def play(episode: Episode, token: uuid.UUID, number: int) -> show_leases.Taken | float | None:
    env = show_leases.begin_again(episode.id).env
    return show_leases.take_turn(episode.id, token, env, number, Decision("\\boxed{99}", "because"))


# ---------------------------------------------------------------- people


def test_a_show_begins_with_its_agent_in_the_seat(agents: Agents) -> None:
    episode = shows.start(ENV_ID, agents["expert"], seed=7, pace=2, visitor="b" * 32)
    assert episode.seed == 7
    assert episode.seats.get().agent == agents["expert"]
    assert episode.show.pace == 2


@pytest.mark.parametrize("pace", [0, 0.01, 61, float("nan"), float("inf"), -1])
def test_a_pace_that_nobody_can_watch_is_refused(agents: Agents, pace: float) -> None:
    with pytest.raises(shows.PaceRefused, match=r"0\.1 to 60 seconds"):
        shows.start(ENV_ID, agents["random"], pace=pace)
    assert not Episode.objects.exists()


def test_a_person_cannot_be_sent_to_play_live(agents: Agents) -> None:
    with pytest.raises(shows.CannotPlay, match="cannot take an agent's place"):
        shows.start(ENV_ID, agents["human"])


def test_one_person_has_a_number_of_shows(agents: Agents) -> None:
    for _ in range(shows.ROOM * settings.SHOWS_PER_PERSON):
        last = shows.start(ENV_ID, agents["random"], visitor="b" * 32)
    with pytest.raises(shows.TooManyShows, match="Nothing was started"):
        shows.start(ENV_ID, agents["random"], visitor="b" * 32)
    shows.start(ENV_ID, agents["random"], visitor="c" * 32)
    shows.stop(last.id)
    assert shows.start(ENV_ID, agents["random"], visitor="b" * 32)


def test_only_the_starter_and_staff_control_a_show(show: Episode) -> None:
    staff = User.objects.create_user("staff", is_staff=True)
    other = User.objects.create_user("other")
    assert shows.may_control(show, AnonymousUser(), "b" * 32)
    assert shows.may_control(show, staff, "")
    assert not shows.may_control(show, other, "")
    assert not shows.may_control(show, AnonymousUser(), "")
    assert not shows.may_control(show, AnonymousUser(), "c" * 32)


VERBS: list[Callable[[str], None]] = [shows.pause, shows.resume, shows.one_turn, shows.stop]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_raises_the_seq_and_ends_with_the_episode(show: Episode, verb: Callable[[str], None]) -> None:
    verb(show.id)
    show.refresh_from_db()
    assert show.seq == 1
    if verb is not shows.stop:
        shows.stop(show.id)
    with pytest.raises(EpisodeEnded):
        verb(show.id)


@pytest.mark.parametrize("verb", VERBS)
def test_there_must_be_a_show(episode: Episode, verb: Callable[[str], None]) -> None:
    with pytest.raises(NotFound):
        verb(episode.id)
    with pytest.raises(NotFound):
        verb("nothing")


# ---------------------------------------------------------------- hosts


def test_two_hosts_never_own_the_same_show(agents: Agents) -> None:
    for number in range(6):
        shows.start(ENV_ID, agents["random"], visitor=str(number))
    first = show_leases.claim(uuid.uuid4(), 4, showcase=False)
    second = show_leases.claim(uuid.uuid4(), 4, showcase=False)
    assert len(first) == 4
    assert len(second) == 2
    assert not set(first) & set(second)


def test_a_turn_is_recorded_with_its_reason_and_the_next_one_waits_for_its_time(show: Episode) -> None:
    token = claim_one(show)
    taken = play(show, token, 1)
    assert isinstance(taken, show_leases.Taken)
    assert taken.turn.extra == {"note": "because"}
    Show.objects.filter(pk=show.pk).update(next_turn_at=Now() + timedelta(seconds=30))
    early = play(show, token, 2)
    assert isinstance(early, float)
    assert 25 < early <= 30
    assert show.turns.count() == 1


def test_a_host_that_lost_its_lease_writes_nothing(show: Episode) -> None:
    old = claim_one(show)
    Show.objects.filter(pk=show.pk).update(lease_until=Now() - timedelta(seconds=1))
    with pytest.raises(LeaseLost):
        play(show, old, 1)
    new = claim_one(show)
    for token in (old,):
        with pytest.raises(LeaseLost):
            play(show, token, 1)
        with pytest.raises(LeaseLost):
            show_leases.fail(show.id, token, "It broke.")
        assert show_leases.renew(token) == 0
    assert isinstance(play(show, new, 1), show_leases.Taken)
    make_due(show)
    with pytest.raises(LeaseLost):
        play(show, new, 1)  # the same turn again
    assert [turn.number for turn in show.turns.all()] == [1]


def test_a_paused_show_takes_only_the_turns_that_were_asked_for(show: Episode) -> None:
    token = claim_one(show)
    shows.pause(show.id)
    assert play(show, token, 1) is None
    assert [plan.idle for plan in show_leases.plans(token, showcase=False)] == [True]
    shows.one_turn(show.id)
    shows.one_turn(show.id)
    assert isinstance(play(show, token, 1), show_leases.Taken)
    make_due(show)
    assert isinstance(play(show, token, 2), show_leases.Taken)
    assert play(show, token, 3) is None
    show_leases.release(token)
    assert show_leases.claim(uuid.uuid4(), 10, showcase=False) == []
    shows.resume(show.id)
    assert show_leases.claim(uuid.uuid4(), 10, showcase=False) == [show.id]


def test_a_show_whose_hosts_keep_dying_ends_with_the_reason(show: Episode) -> None:
    for _ in range(settings.MAX_ATTEMPTS):
        claim_one(show)
        Show.objects.filter(pk=show.pk).update(lease_until=Now() - timedelta(seconds=1))
    assert show_leases.claim(uuid.uuid4(), 10, showcase=False) == []
    show.refresh_from_db()
    assert show.status == Episode.Status.FAILED
    assert "crashed 3 times at turn 1" in show.failure


def test_a_turn_forgives_earlier_deaths(show: Episode) -> None:
    for number in range(1, settings.MAX_ATTEMPTS * 2):
        token = claim_one(show)
        make_due(show)
        assert isinstance(play(show, token, number), show_leases.Taken)
        Show.objects.filter(pk=show.pk).update(lease_until=Now() - timedelta(seconds=1))
    assert show.turns.count() == settings.MAX_ATTEMPTS * 2 - 1


def test_a_slower_pace_counts_from_the_next_turn_and_a_faster_one_at_once(show: Episode) -> None:
    Show.objects.filter(pk=show.pk).update(next_turn_at=Now() + timedelta(seconds=50))
    shows.set_pace(show.id, 0.5)
    token = claim_one(show)
    (plan,) = show_leases.plans(token, showcase=False)
    assert plan.wait <= 0.5
    shows.set_pace(show.id, 60)
    (plan,) = show_leases.plans(token, showcase=False)
    assert plan.wait <= 0.5


# ---------------------------------------------------------------- the showcase


def test_the_showcase_goes_through_every_family_and_keeps_the_last_episodes(
    agents: Agents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(showcase, "MAX_EPISODES", 3)
    seen = []
    for _ in range(5):
        episode = showcase.go_on()
        assert episode is not None
        assert showcase.go_on() is None  # it is still played
        seen.append(episode.env_id)
        operations.abandon(episode)
        assert showcase.go_on() is None  # its end is still shown
        Episode.objects.filter(pk=episode.pk).update(ended=Now() - timedelta(minutes=1))
    rotation = showcase.rotation()
    assert seen == [rotation[number % len(rotation)] for number in range(5)]
    assert Episode.objects.count() == 3
    assert not Episode.objects.published().exists()
    assert Showcase.objects.get().seq == 5


def test_a_showcase_is_claimed_only_while_somebody_watches(agents: Agents) -> None:
    episode = showcase.go_on()
    assert episode is not None
    assert show_leases.claim(uuid.uuid4(), 10, showcase=False) == []
    assert not showcase.is_watched()
    token = uuid.uuid4()
    assert show_leases.claim(token, 10, showcase=True) == [episode.id]
    assert [plan.idle for plan in show_leases.plans(token, showcase=False)] == [True]


def test_the_home_page_hears_which_episode_is_shown(agents: Agents) -> None:
    topic = showcase.ShowcaseTopic()
    assert topic.current("main") is None
    present = showcase.present()
    assert present.episode is not None
    (event,) = topic.events("main", 0, "home")
    assert event.seq == 1
    assert f"/live/episode/{present.episode_id}/?after=0" in event.html
    assert topic.events("main", 1, "home") == []
    assert topic.allows("main", "home", AnonymousUser(), "")
    assert not topic.allows("main", "seat-0", AnonymousUser(), "")
