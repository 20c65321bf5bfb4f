"""Two requests of one person at the same moment exceed no limit: the second one counts what the first one stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from pytest_django import Settings

from apps.accounts.models import User
from apps.episodes.models import PendingTurn
from apps.jobs import operations as jobs
from apps.jobs.controls import operations as controls
from apps.jobs.errors import TooManyJobs
from apps.jobs.models import Job
from apps.learnability import asking as probing
from apps.learnability.models import Probe
from apps.lens import asking as measuring
from apps.lens.models import Truth
from apps.play import operations as play
from apps.play import pending
from apps.play.models import Show
from apps.play.shows import continuing
from apps.play.shows import operations as shows
from gem import registry
from gem.evaluation.spec import EvaluationSpec
from tests.apps.agents import built_in
from tests.apps.lens.test_truths import ended
from tests.apps.meanwhile import Elsewhere, meanwhile

GUESS, HARD, SLOW = "game:GuessTheNumber-v0-easy", "game:GuessTheNumber-v0-hard", "math:GSM8K"
KEY = "v" * 32
NOBODY = AnonymousUser()

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def ada() -> User:
    built_in("human")
    return User.objects.create_user("ada")


def both(first: Callable[[], object], second: Callable[[], object], before: str) -> Exception | None:
    """Let the first request store something, and the second one come before that. Returns why that was refused."""
    other = Elsewhere(second)
    with meanwhile(before, other) as it:
        first()
    other.end()
    assert it.happened, "nothing was stored"
    return other.refusal


@pytest.mark.parametrize("who", ["account", "visitor", "address"])
def test_live_episodes(ada: User, settings: Settings, who: str) -> None:
    settings.SHOWS_PER_PERSON = settings.SHOWS_PER_ADDRESS = 1
    agent = built_in("random")
    people: dict[str, list[dict[str, Any]]] = {
        "account": [{"user": ada}, {"user": ada}],
        "visitor": [{"visitor": KEY}, {"visitor": KEY}],
        "address": [{"visitor": KEY, "address": "a"}, {"visitor": "w" * 32, "address": "a"}],
    }
    first, second = people[who]
    shows.start(GUESS, agent, **first)  # as many may wait as may play
    refusal = both(
        lambda: shows.start(GUESS, agent, **first), lambda: shows.start(GUESS, agent, **second), 'INTO "play_show"'
    )
    assert isinstance(refusal, shows.TooManyShows)
    assert Show.objects.count() == 2


def test_branches_that_agents_continue(ada: User, settings: Settings) -> None:
    settings.SHOWS_PER_PERSON = 1
    episode, agent = ended(), built_in("random")

    def go_on() -> None:
        continuing.continue_with(episode, 0, agent, count=2, user=ada)

    assert isinstance(both(go_on, go_on, 'INTO "play_show"'), shows.TooManyShows)
    assert Show.objects.count() == 2


def test_turns_that_wait_for_a_worker(ada: User, settings: Settings) -> None:
    settings.TURNS_WAITING_PER_PERSON = 1
    one, other = (play.begin(SLOW, seed=seed, user=ada, visitor="") for seed in (1, 2))

    def turn(key: str) -> Callable[[], object]:
        return lambda: play.take_turn(key, "\\boxed{1}", expected_seq=0, user=ada, visitor="")

    refusal = both(turn(one.pk), turn(other.pk), 'INTO "episodes_pendingturn"')
    assert isinstance(refusal, pending.TooManyTurns)
    assert PendingTurn.objects.count() == 1


def test_measurements_of_the_lens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "MOST_OPEN", 1)
    episode = ended()

    def ask(count: int) -> Callable[[], object]:
        return lambda: measuring.ask(episode, "random", count, None, user=NOBODY, person="visitor:x", address="")

    assert isinstance(both(ask(16), ask(64), 'INTO "lens_truth"'), measuring.Crowded)
    assert Truth.objects.count() == 1


def test_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "MOST_OPEN", 1)

    def ask(env_id: str) -> Callable[[], object]:
        return lambda: probing.ask(registry.spec(env_id), person="visitor:x", address="")

    assert isinstance(both(ask(GUESS), ask(HARD), 'INTO "learnability_probe"'), probing.Crowded)
    assert Probe.objects.count() == 1


def test_jobs_that_go_on(ada: User, settings: Settings) -> None:
    built_in("random")
    spec = EvaluationSpec(agent="random", env_ids=(GUESS,), episodes_per_env=3)
    paused = [controls.pause(jobs.submit(ada, spec).pk, ada).pk for _ in range(2)]
    settings.JOBS_QUEUED_PER_USER = 1
    refusal = both(lambda: jobs.resume(paused[0], ada), lambda: jobs.resume(paused[1], ada), 'UPDATE "jobs_job"')
    assert isinstance(refusal, TooManyJobs)
    assert Job.objects.filter(state=Job.State.QUEUED).count() == 1
    with pytest.raises(TooManyJobs, match="You have 1 queued jobs"):
        jobs.resume(paused[1], ada)


def test_jobs_that_play_again_what_failed(ada: User, settings: Settings) -> None:
    built_in("random")
    spec = EvaluationSpec(agent="random", env_ids=(GUESS,), episodes_per_env=3)
    failed = [jobs.submit(ada, spec).pk for _ in range(2)]
    Job.objects.update(state=Job.State.FAILED)
    settings.JOBS_QUEUED_PER_USER = 1
    refusal = both(
        lambda: controls.retry_failed(failed[0], ada),
        lambda: controls.retry_failed(failed[1], ada),
        'UPDATE "jobs_shard"',
    )
    assert isinstance(refusal, TooManyJobs)
    assert Job.objects.filter(state=Job.State.QUEUED).count() == 1
