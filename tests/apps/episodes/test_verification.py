"""Verify: the page of a fast episode has the verdict at once, that of a slow one as soon as a worker has it."""

from __future__ import annotations

from typing import Any

import pytest
import redis
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client

import gem
from apps.episodes import operations
from apps.episodes.models import Episode, PendingVerification
from apps.episodes.operations import Occupant
from apps.episodes.questions import asked, mistakes, verification
from apps.episodes.replays import views
from apps.episodes.restore import restore
from apps.leases import Heartbeat
from apps.play.bench import trials
from apps.play.models import PendingTrial
from tests.apps.agents import built_in
from tests.html import tight
from workers import reap

pytestmark = pytest.mark.django_db
FAST, SLOW = "game:GuessTheNumber-v0-easy", "math:GSM8K"
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def no_verdicts() -> None:
    cache.clear()


def ended(env_id: str) -> Episode:
    """An episode that a random agent has played to its end."""
    episode = operations.begin(env_id, seed=3, seats=[Occupant(built_in("random"))])
    env = restore(episode)
    while not episode.over:
        operations.record_turn(episode, env, env.sample_random_action())
    return episode


def verify(client: Client, episode: Episode) -> str:
    return tight(client.post(f"/episodes/{episode.pk}/verify/", headers=HTMX))


def verdict(client: Client, episode: Episode) -> str:
    return tight(client.get(f"/episodes/{episode.pk}/verdict/", headers=HTMX))


def test_a_fast_episode_is_verified_at_once(client: Client) -> None:
    episode = ended(FAST)
    assert "Identical in all" in verify(client, episode)
    episode.turns.filter(number=1).update(reward=0.5)
    assert "Not identical" in verify(client, episode)


def test_an_environment_that_fails_is_said(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Episode) -> None:
        raise error

    episode = ended(FAST)
    monkeypatch.setattr(operations, "verify", broken)
    error: Exception = ZeroDivisionError("none")
    assert "The environment failed when it was executed again: ZeroDivisionError: none." in verify(client, episode)
    error = OperationalError("Postgres is away")
    with pytest.raises(OperationalError):
        verify(client, episode)


def test_a_program_reads_how_a_fast_episode_is_verified(client: Client) -> None:
    address = f"/api/v1/episodes/{ended(FAST).pk}/verification"
    assert client.post(address).json()["holds"] is True
    assert "the answer to a POST request is the verdict" in client.get(address).json()["detail"]


def test_a_slow_episode_is_verified_by_a_worker(
    client: Client, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode = ended(SLOW)
    assert gem.spec(SLOW).cost == "slow"
    with django_capture_on_commit_callbacks() as messages:
        pages = [verify(client, episode), verify(client, episode), verdict(client, episode)]
    assert len(messages) == 1, "one worker is enough"
    for page in pages:
        assert "It is 1st in the queue" in page
        assert f'hx-get="/episodes/{episode.pk}/verdict/"' in page
    assert verification.answer_next()
    page = verdict(client, episode)
    assert "Identical in its only turn" in page
    assert "hx-get" not in page
    monkeypatch.setattr(operations, "verify", lambda _: pytest.fail("it is known already"))
    assert "Identical in its only turn" in verify(client, episode)
    assert not verification.answer_next(), "it is known already"


def test_a_changed_grade_of_a_slow_episode_is_found(client: Client) -> None:
    episode = ended(SLOW)
    episode.turns.filter(number=1).update(reward=1.0)
    verify(client, episode)
    verification.answer_next()
    assert "Not identical" in verdict(client, episode)


def test_nobody_keeps_all_workers_busy_with_it(client: Client) -> None:
    episodes = [ended(SLOW) for _ in range(12)]
    pages = [verify(client, episode) for episode in episodes]
    assert ["in the queue" in page for page in pages] == [True] * 10 + [False] * 2
    assert "Try again in" in pages[-1]


def test_nobody_keeps_the_web_process_busy_with_fast_ones(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "FAST_VERIFICATIONS_PER_MINUTE", 2)
    episode = ended(FAST)
    path, same_visitor = f"/episodes/{episode.pk}/verify/", Client()
    answers = [each.post(path) for each in (client, same_visitor, Client())]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert int(answers[-1]["Retry-After"]) > 0
    assert "Try again in" in tight(answers[-1])
    program = Client().post(f"/api/v1/episodes/{episode.pk}/verification")
    assert program.status_code == 429, "pages and programs are counted together"
    assert int(program["Retry-After"]) > 0
    assert "You have had many episodes verified." in program.json()["detail"]
    assert Client(REMOTE_ADDR="198.51.100.7").post(path).status_code == 200


def test_without_an_answer_the_page_says_what_to_do(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    episode = ended(SLOW)
    assert "No worker has answered" in verdict(client, episode)

    def away(*_: Any) -> None:
        raise redis.ConnectionError

    monkeypatch.setattr(asked.cache, "add", away)
    assert "No worker has answered" in verify(client, episode)


def test_people_are_served_in_turn_and_the_page_says_the_place(client: Client) -> None:
    greedy = [ended(SLOW) for _ in range(4)]
    for episode in greedy:
        verify(client, episode)
    own = ended(SLOW)
    honest = Client(REMOTE_ADDR="198.51.100.2")
    assert "It is 2nd in the queue" in verify(honest, own)
    assert "It is 5th in the queue" in verdict(client, greedy[-1])
    assert verification.answer_next()
    assert verification.answer_next()
    assert "Identical in its only turn" in verdict(honest, own)


def test_a_worker_that_died_is_replaced_until_all_have_died(client: Client) -> None:
    episode = ended(SLOW)
    verify(client, episode)
    PendingVerification.objects.update(lease_until="2020-01-01T00:00Z", attempt=1)
    assert "1st in the queue" in verdict(client, episode)
    PendingVerification.objects.update(attempt=9)
    assert not verification.answer_next()
    assert "No worker has answered" in verdict(client, episode)


def test_a_lost_message_is_sent_again(client: Client, django_capture_on_commit_callbacks: Any) -> None:
    assert {verification.QUESTION.wake_worker, mistakes.QUESTION.wake_worker, trials.wake_worker} < set(reap.DUTIES)
    verify(client, ended(SLOW))
    with django_capture_on_commit_callbacks() as messages:
        assert not verification.QUESTION.wake_worker(), "the first message may still be under way"
        PendingVerification.objects.update(created="2020-01-01T00:00Z")
        assert verification.QUESTION.wake_worker()
        PendingVerification.objects.update(lease_until="2120-01-01T00:00Z")
        assert not verification.QUESTION.wake_worker(), "a worker replays it"
    assert len(messages) == 1


def test_a_worker_that_replays_for_long_keeps_the_episode(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    kept: list[bool] = []

    class OneBeat(Heartbeat):
        """Beats once, in the thread of the test."""

        def start(self) -> None:
            kept.append(self.beat())

        def stop(self) -> None:
            pass

    monkeypatch.setattr(asked, "Heartbeat", OneBeat)
    monkeypatch.setattr(trials, "Heartbeat", OneBeat)
    episode = ended(SLOW)
    verify(client, episode)
    assert verification.answer_next()
    PendingTrial.objects.create(episode=episode, program="print(1)")
    assert trials.answer_next()
    assert kept == [True, True]
