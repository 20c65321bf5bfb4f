"""Evaluations and trainings of different people take turns, whatever they take and however many each has."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from apps.accounts import quotas
from apps.accounts.models import CpuUse, User
from apps.agents.models import Agent
from apps.episodes.models import Batch
from apps.jobs import admission, leases, operations
from apps.jobs.leases import Claim
from apps.jobs.models import Job, Shard
from apps.trainings import operations as trainings
from gem.evaluation.spec import EvaluationSpec
from gem.training.spec import read_spec
from tests.html import tight
from workers import evaluate
from workers.playing.cpu import CpuMeter
from workers.playing.lease import Lease

EASY = "game:GuessTheNumber-v0-easy"

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def runs(settings: Settings, tmp_path: Any) -> None:
    settings.RUNS_DIR = tmp_path


def person(name: str) -> User:
    return User.objects.create_user(name)


def job_of(owner: User | None, shards: int = 1) -> Job:
    """A queued evaluation with this many shards."""
    spec = EvaluationSpec.model_validate({"agent": "random", "env_ids": (EASY,), "episodes_per_env": 10})
    job = operations.submit(owner, spec)
    more = [Shard(job=job, number=n, env_id=EASY, first_slot=10 * n, count=10) for n in range(2, shards + 1)]
    Shard.objects.bulk_create(more)
    return job


def finish(claim: Claim) -> None:
    """End a shard, as a worker does that has played it."""
    leases.owned(claim).release(state=Shard.State.DONE)
    if not Shard.objects.filter(job=claim.job_id).exclude(state=Shard.State.DONE).exists():
        Job.objects.filter(pk=claim.job_id).update(state=Job.State.DONE)


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 20))])
def test_finished_shards_of_equal_work_differ_by_the_number_of_workers_plus_one_at_most(
    seed: int, settings: Settings
) -> None:
    """Simulated workers, whose shards take any time: one person has one job, the other one job for each shard."""
    settings.JOBS_RUNNING_PER_USER = 100
    rng = random.Random(seed)
    workers, each = rng.randint(1, 4), 12
    ada, bob = person("ada"), person("bob")
    job_of(ada, each)
    for _ in range(each):
        job_of(bob)
    pace = {ada.pk: rng.choice([1, 9]), bob.pk: rng.choice([1, 9])}
    finished: Counter[int | None] = Counter()
    running: list[tuple[float, int, Claim]] = []
    now = 0.0
    while min(finished[ada.pk], finished[bob.pk]) < each - workers - 1:
        while len(running) < workers and (claim := leases.claim()) is not None:
            owner = Job.objects.get(pk=claim.job_id).owner_id
            running.append((now + pace[owner or 0] * rng.uniform(0.1, 2), owner or 0, claim))
        running.sort(key=lambda one: one[0])
        now, owner_id, claim = running.pop(0)
        finish(claim)
        finished[owner_id] += 1
        assert abs(finished[ada.pk] - finished[bob.pk]) <= workers + 1


def test_a_person_with_many_short_jobs_does_not_pass_one_with_a_long_job() -> None:
    ada, bob = person("ada"), person("bob")
    long = job_of(ada, 8)
    order = []
    for _ in range(8):
        job_of(bob)
        claim = leases.claim()
        assert claim is not None
        order.append(claim.job_id == long.pk)
        finish(claim)
    assert order.count(True) == 4


def test_the_jobs_of_one_person_take_turns(ada: User) -> None:
    long, short = job_of(ada, 5), job_of(ada, 1)
    order = []
    for _ in range(3):
        claim = leases.claim()
        assert claim is not None
        order.append(claim.job_id)
        finish(claim)
    assert short.pk in order[:2]
    assert order.count(long.pk) == 2


@pytest.fixture
def ada() -> User:
    return person("ada")


# ------------------------------------------------------------------ giving way


def test_a_short_evaluation_gets_a_worker_although_long_shards_hold_all_of_them(ada: User) -> None:
    job_of(ada, 5)
    held = [leases.claim(), leases.claim()]
    assert all(held)
    assert not any(admission.should_yield(claim.shard_id, claim.job_id) for claim in held if claim), "nobody waits"
    short = job_of(person("bob"))
    giving = [claim for claim in held if claim and admission.should_yield(claim.shard_id, claim.job_id)]
    assert len(giving) == 1, "one of the workers is enough"
    leases.give_way(giving[0])
    given_back = Shard.objects.get(pk=giving[0].shard_id)
    assert (given_back.state, given_back.attempt, given_back.lease_token) == ("queued", 0, None)
    claim = leases.claim()
    assert claim is not None
    assert claim.job_id == short.pk
    kept = held[1] if giving[0] == held[0] else held[0]
    assert kept is not None
    assert not admission.should_yield(kept.shard_id, kept.job_id), "both people have a worker now"


def test_who_gave_way_is_served_after_who_waits_even_if_that_person_was_served_later(ada: User) -> None:
    job_of(ada, 3)
    held = leases.claim()
    assert held is not None
    bob = person("bob")
    job_of(bob, 2)
    claim = leases.claim()
    assert claim is not None
    finish(claim)
    assert admission.should_yield(held.shard_id, held.job_id)
    leases.give_way(held)
    following = leases.claim()
    assert following is not None
    assert following.job_id == claim.job_id


@pytest.mark.django_db(transaction=True)  # it records in a thread
def test_a_worker_that_gives_way_records_what_it_has_begun_and_takes_the_other_shard(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    long, short = job_of(ada), job_of(person("bob"))
    Job.objects.filter(pk=long.pk).update(spec={**long.spec, "num_envs": 2})
    claim = leases.claim()
    assert claim is not None
    assert claim.job_id == long.pk
    monkeypatch.setattr("apps.leases.LOOK_SECONDS", 3600.0)
    with Lease(claim, lambda: False) as lease:
        lease.gives_way.set()
        evaluate.play(claim, lease, CpuMeter(None, CpuUse.Use.JOBS))
    shard = Shard.objects.get(pk=claim.shard_id)
    assert (shard.state, shard.lease_token) == ("queued", None)
    assert 0 < shard.done < 10
    assert shard.done == long.batch.episodes.count(), "nothing that was played is lost"
    assert long.events.filter(text__contains="somebody else is served in between").exists()
    following = leases.claim()
    assert following is not None
    assert following.job_id == short.pk
    finish(following)
    again = leases.claim()
    assert again is not None
    with Lease(again, lambda: False) as lease:
        assert evaluate.play(again, lease, CpuMeter(None, CpuUse.Use.JOBS)), "and it is finished"
    assert long.batch.episodes.count() == 10


def test_a_person_may_be_given_another_number_of_running_jobs(ada: User, settings: Settings) -> None:
    settings.JOBS_RUNNING_PER_USER = 1
    jobs = [job_of(ada) for _ in range(3)]
    assert len({claimed_job() for _ in range(3)} - {None}) == 1
    quotas.set_limit(ada, quotas.JOBS_RUNNING, 2)
    assert claimed_job() in {job.pk for job in jobs}
    assert Job.objects.filter(owner=ada, state="running").count() == 2


def claimed_job() -> str | None:
    claim = leases.claim()
    return claim.job_id if claim else None


def test_a_training_gives_way_to_one_of_somebody_else(ada: User) -> None:
    spec = read_spec({"env_id": EASY, "updates": 10, "episodes": 16})
    trainings.submit(ada, spec)
    trainings.submit(ada, spec)
    claim = leases.claim(Job.Kind.TRAINING)
    assert claim is not None
    assert not admission.should_yield(claim.shard_id, claim.job_id), "one's own trainings wait"
    other = trainings.submit(person("bob"), spec)
    job_of(person("eve"))
    assert admission.should_yield(claim.shard_id, claim.job_id)
    leases.give_way(claim)
    following = leases.claim(Job.Kind.TRAINING)
    assert following is not None
    assert following.job_id == other.pk


# ------------------------------------------------------------------ places


def test_the_page_of_a_queued_job_shows_its_place(ada: User, client: Client) -> None:
    bob = person("bob")
    mine = [job_of(ada) for _ in range(3)]
    theirs = [job_of(bob) for _ in range(5)]
    assert [admission.jobs_ahead(job) for job in mine] == [1, 3, 5]
    assert admission.jobs_ahead(theirs[4]) == 4 + 3
    assert admission.jobs_ahead_of_new(Job.Kind.EVALUATION, person("eve").pk) == 2
    page = tight(client.get(mine[1].get_absolute_url()))
    assert "<dt>Place in the queue</dt><dd>4th<small>3 jobs ahead" in page


def test_the_page_of_a_queued_training_shows_its_place(ada: User, client: Client) -> None:
    spec = read_spec({"env_id": EASY, "updates": 10, "episodes": 16})
    trainings.submit(ada, spec)
    second = trainings.submit(ada, spec)
    client.force_login(ada)
    page = tight(client.get(second.get_absolute_url()))
    assert "2nd<small>1 training ahead" in page


@pytest.mark.long
def test_a_claim_reads_little_beside_ten_thousand_queued_jobs_of_twenty_people() -> None:
    people = User.objects.bulk_create(User(username=f"p{n}") for n in range(20))
    agent = Agent.objects.get(slug="random")
    batches = Batch.objects.bulk_create(Batch(kind=Batch.Kind.JOB) for _ in range(10_000))
    jobs = Job.objects.bulk_create(
        Job(spec={}, owner=people[n % 20], agent=agent, batch=batch, episodes_total=30, created=timezone.now())
        for n, batch in enumerate(batches)
    )
    Shard.objects.bulk_create(
        Shard(job=job, number=n, env_id=EASY, first_slot=10 * n, count=10) for job in jobs for n in range(3)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE jobs_job, jobs_shard")
        query, values = admission._query(Job.Kind.EVALUATION)
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {query}", values)
        plan = cursor.fetchone()[0][0]
    pages = plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
    print(f"{pages} pages, {plan['Execution Time']:.1f} ms")
    assert pages < 3000, "a few rows of each person"
    order = [Job.objects.get(pk=claim.job_id).owner_id for _ in range(60) if (claim := leases.claim()) is not None]
    assert set(Counter(order).values()) == {3}
