"""The host of live episodes as a real process: it is killed, its servers go away, and no turn is lost or repeated."""

import signal
import time
from itertools import pairwise

import pytest

from apps.agents.models import Agent
from apps.episodes.models import Episode
from apps.episodes.operations import verify
from apps.live import presence
from apps.play.shows import operations as shows
from apps.play.shows import showcase
from tests.live.processes import WAIT_SECONDS, Fleet, wait_for

ENV_ID = "game:GuessTheNumber-v0-hard"
Agents = dict[str, Agent]

pytestmark = pytest.mark.usefixtures("agents")


@pytest.fixture
def long_shows(agents: Agents) -> list[Episode]:
    """Shows that last some seconds: the random agent hardly ever guesses one of a thousand numbers."""
    kwargs = {"min_number": 1, "max_number": 1000, "max_turns": 25}
    return [
        shows.start(ENV_ID, agents["random"], seed=seed, pace=0.2, visitor=str(seed), env_kwargs=kwargs)
        for seed in range(5)
    ]


def ended(episodes: list[Episode]) -> bool:
    return not Episode.objects.filter(pk__in=[e.pk for e in episodes], status=Episode.Status.RUNNING).exists()


def turns_of(episode: Episode) -> list[int]:
    return list(episode.turns.order_by("number").values_list("number", flat=True))


def check_whole(episodes: list[Episode]) -> None:
    """Every turn once, in order, as the engine plays it."""
    for episode in episodes:
        episode.refresh_from_db()
        assert episode.status == Episode.Status.ENDED, episode.failure
        assert turns_of(episode) == list(range(1, episode.turn_count + 1))
        assert episode.seq >= episode.turn_count
        assert verify(episode) is None


def test_a_host_plays_many_shows_to_their_end_and_says_why(fleet: Fleet, agents: Agents) -> None:
    episodes = [shows.start(ENV_ID, agents["expert"], seed=s, pace=0.1, visitor=str(s)) for s in range(20)]
    fleet.host()
    wait_for(lambda: ended(episodes), "the shows to end")
    check_whole(episodes)
    first = episodes[0].turns.order_by("number").first()
    assert first is not None
    assert first.extra is not None
    assert first.extra["note"]


def test_turns_come_at_the_show_s_pace(fleet: Fleet, agents: Agents) -> None:
    fleet.host()
    kwargs = {"min_number": 1, "max_number": 1000, "max_turns": 6}
    episode = shows.start(ENV_ID, agents["random"], seed=1, pace=0.5, env_kwargs=kwargs)
    wait_for(lambda: ended([episode]), "the show to end")
    at = [turn.created.timestamp() for turn in episode.turns.order_by("number")]
    gaps = [later - earlier for earlier, later in pairwise(at)]
    assert 0.4 < sum(gaps) / len(gaps) < 0.8


def test_a_show_is_paused_stepped_resumed_and_stopped_at_once(fleet: Fleet, long_shows: list[Episode]) -> None:
    show = long_shows[0]
    fleet.host()
    wait_for(lambda: len(turns_of(show)) >= 2, "two turns")
    shows.pause(show.id)
    paused_at = len(turns_of(show))
    time.sleep(1.5)
    assert len(turns_of(show)) == paused_at
    shows.one_turn(show.id)
    wait_for(lambda: len(turns_of(show)) == paused_at + 1, "one turn")
    time.sleep(1)
    assert len(turns_of(show)) == paused_at + 1
    shows.resume(show.id)
    wait_for(lambda: len(turns_of(show)) >= paused_at + 3, "the show to go on")
    shows.stop(show.id)
    stopped_at = len(turns_of(show))
    time.sleep(1)
    assert len(turns_of(show)) == stopped_at
    show.refresh_from_db()
    assert show.status == Episode.Status.ABANDONED


def test_a_broken_agent_ends_its_own_show_only(fleet: Fleet, long_shows: list[Episode], agents: Agents) -> None:
    broken = shows.start(ENV_ID, agents["random"], seed=9, pace=0.1, visitor="z")
    nobody = Agent.objects.create(slug="lost", name="lost", kind=Agent.Kind.CHECKPOINT, colour=1)
    broken.seats.update(agent=nobody)  # nobody can make this agent
    fleet.host()
    wait_for(lambda: ended([broken]), "the broken show to end")
    broken.refresh_from_db()
    assert broken.status == Episode.Status.FAILED
    assert "checkpoint" in broken.failure
    assert broken.failed_by == "agent"
    wait_for(lambda: len(turns_of(long_shows[0])) > 2, "the others to go on")


def test_sigterm_returns_the_leases_and_another_host_goes_on(fleet: Fleet, long_shows: list[Episode]) -> None:
    first = fleet.host()
    wait_for(lambda: all(len(turns_of(show)) >= 2 for show in long_shows), "two turns of each")
    first.signal(signal.SIGTERM)
    first.process.wait(timeout=WAIT_SECONDS)
    assert first.process.returncode == 0
    for show in long_shows:
        show.show.refresh_from_db()
        assert show.show.lease_token is None
    fleet.host()
    wait_for(lambda: ended(long_shows), "the shows to end")
    check_whole(long_shows)


@pytest.mark.fault
def test_a_killed_host_is_followed_by_another_and_no_turn_is_played_twice(
    fleet: Fleet, long_shows: list[Episode]
) -> None:
    hosts = [fleet.host(), fleet.host()]
    for _ in range(3):
        before = {show.id: len(turns_of(show)) for show in long_shows}
        wait_for(
            lambda before=before: any(len(turns_of(s)) > before[s.id] + 1 for s in long_shows) or ended(long_shows),
            "turns to be played",
        )
        hosts[0].signal(signal.SIGKILL)
        hosts = [hosts[1], fleet.host()]
    wait_for(lambda: ended(long_shows), "the shows to end")
    check_whole(long_shows)


@pytest.mark.fault
def test_the_showcase_plays_only_while_somebody_watches(fleet: Fleet) -> None:
    web = fleet.web()
    fleet.host()
    present = showcase.present()
    assert present.episode is not None
    time.sleep(3)
    assert turns_of(present.episode) == []
    with web.watch("showcase/main", audience="home"):
        wait_for(lambda: presence.count("showcase:main") == 1, "the spectator")
        wait_for(lambda: len(turns_of(present.episode)) >= 2, "two turns")
    wait_for(lambda: presence.count("showcase:main") == 0, "the spectator to leave")
    time.sleep(1.5)
    turns = len(turns_of(present.episode))
    time.sleep(3)
    assert len(turns_of(present.episode)) == turns
