"""Submitting: caps, agents, keys, shards; and who may change a job."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.jobs import leases, operations
from apps.jobs.errors import NotYours, TooManyEpisodes, TooManyJobs, UnknownAgent
from apps.jobs.models import Job, Shard
from gem.agents import make_agent
from gem.evaluation.spec import EvaluationSpec
from gem.rollout import rollout

EASY = "game:GuessTheNumber-v0-easy"
HARD = "game:GuessTheNumber-v0-hard"


def request(*env_ids: str, **more: Any) -> EvaluationSpec:
    return EvaluationSpec.model_validate({"agent": "random", "env_ids": env_ids or (EASY,), **more})


def test_a_job_is_cut_into_shards_of_consecutive_slots_and_seeds(ada: User) -> None:
    job = operations.submit(ada, request(EASY, HARD, episodes_per_env=600, seed=1000))
    shards = list(job.shards.order_by("number"))
    assert job.episodes_total == 1200 == sum(shard.count for shard in shards)
    assert [shard.number for shard in shards] == list(range(1, len(shards) + 1))
    for before, after in pairwise(sorted(shards, key=lambda shard: shard.first_slot)):
        assert after.first_slot == before.first_slot + before.count
    assert {shard.env_id: min(s.first_seed for s in shards if s.env_id == shard.env_id) for shard in shards} == {
        EASY: 1000,
        HARD: 1000,
    }
    assert max(shard.count for shard in shards) <= 500
    assert (job.seq, job.events.get().kind) == (1, "submitted")


def test_the_same_key_is_the_same_job_and_another_owner_has_their_own(ada: User) -> None:
    bob = User.objects.create_user("bob")
    first = operations.submit(ada, request(), idempotency_key="k")
    assert operations.submit(ada, request(HARD), idempotency_key="k") == first
    assert operations.submit(bob, request(), idempotency_key="k") != first
    assert operations.submit(ada, request()) != operations.submit(ada, request())


@pytest.mark.django_db(transaction=True)
def test_the_same_key_twice_at_once_is_one_job(ada: User) -> None:
    together = Barrier(4)

    def send(_: int) -> Job:
        together.wait()
        try:
            return operations.submit(ada, request(), idempotency_key="k")
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        sent = list(threads.map(send, range(4)))
    assert sent == [Job.objects.get()] * 4


def test_it_refuses_more_waiting_jobs_than_one_person_may_have(ada: User, settings: Settings) -> None:
    settings.JOBS_QUEUED_PER_USER = 2
    first = operations.submit(ada, request())
    operations.submit(ada, request())
    with pytest.raises(TooManyJobs, match="You have 2 queued jobs"):
        operations.submit(ada, request())
    operations.cancel(first.pk, ada)
    operations.submit(ada, request())


def test_it_refuses_more_episodes_than_a_job_may_have(ada: User, settings: Settings) -> None:
    settings.EPISODES_PER_JOB = 150
    with pytest.raises(TooManyEpisodes, match="A job may have at most 150 episodes; this one has 200"):
        operations.submit(ada, request(EASY, HARD, episodes_per_env=100))
    assert not Job.objects.exists()


@pytest.mark.parametrize("slug", ["nobody", "human", "bobs-own"])
def test_it_refuses_agents_that_are_not_ones_own_to_evaluate(ada: User, slug: str) -> None:
    bob = User.objects.create_user("bob")
    Agent.objects.create(slug="bobs-own", name="bob's", kind="endpoint", colour=1, owner=bob)
    with pytest.raises(UnknownAgent, match="There is no agent"):
        operations.submit(ada, request(agent=slug))


def test_only_its_owner_and_staff_cancel_a_job(ada: User) -> None:
    bob = User.objects.create_user("bob")
    boss = User.objects.create_user("boss", is_staff=True)
    job, other = operations.submit(ada, request()), operations.submit(ada, request())
    with pytest.raises(NotYours):
        operations.cancel(job.pk, bob)
    assert operations.cancel(job.pk, ada).state == Job.State.CANCELLED
    assert operations.cancel(other.pk, boss).state == Job.State.CANCELLED
    assert not Shard.objects.exclude(state=Shard.State.CANCELLED).exists()
    seq = Job.objects.get(pk=job.pk).seq
    assert operations.cancel(job.pk, ada).seq == seq, "cancelling twice changes nothing"


def test_submitting_again_makes_a_job_with_the_same_request(ada: User) -> None:
    job = operations.submit(ada, request(HARD, episodes_per_env=7, seed=3, max_turns=2), name="n")
    bob = User.objects.create_user("bob")
    again = operations.resubmit(job.pk, bob)
    assert (again.spec, again.name, again.owner) == (job.spec, "n", bob)
    assert again.batch_id != job.batch_id


def test_shards_are_claimed_owner_by_owner(ada: User) -> None:
    bob = User.objects.create_user("bob")
    big = operations.submit(ada, request(HARD, episodes_per_env=2000))
    small = operations.submit(bob, request(EASY, episodes_per_env=500))
    claims = [leases.claim() for _ in range(4)]
    assert [claim and claim.job_id for claim in claims] == [big.pk, small.pk, big.pk, small.pk]


def test_a_lone_worker_alternates_between_owners(ada: User) -> None:
    bob = User.objects.create_user("bob")
    big = operations.submit(ada, request(HARD, episodes_per_env=2000))
    small = operations.submit(bob, request(EASY, episodes_per_env=500))
    order = []
    for _ in range(4):
        claim = leases.claim()
        assert claim is not None
        order.append(claim.job_id)
        leases.record_episodes(claim, list(rollout(make_agent("random"), claim.slots())))
    assert order == [big.pk, small.pk, big.pk, small.pk]


def test_no_more_jobs_of_one_person_run_than_may(ada: User, settings: Settings) -> None:
    settings.JOBS_RUNNING_PER_USER = 1
    first, second = operations.submit(ada, request()), operations.submit(ada, request())
    claim = leases.claim()
    assert claim is not None
    assert claim.job_id == first.pk
    assert leases.claim() is None
    operations.cancel(first.pk, ada)
    claim = leases.claim()
    assert claim is not None
    assert claim.job_id == second.pk


def test_a_turn_limit_of_the_job_ends_episodes(ada: User) -> None:
    job = operations.submit(ada, request(HARD, episodes_per_env=30, max_turns=2))
    claim = leases.claim()
    assert claim is not None
    leases.record_episodes(claim, list(rollout(make_agent("random"), claim.slots())))
    episodes = job.batch.episodes.all()
    assert max(episode.turn_count for episode in episodes) == 2
    assert episodes.filter(truncated=True).exists()
    assert episodes[0].wrappers == [{"name": "time_limit", "max_turns": 2}]
