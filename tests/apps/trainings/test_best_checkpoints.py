"""The best checkpoint of a training is evaluated on request: once, whoever asks and however often."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.jobs.errors import JobRefusal, NotYours
from apps.jobs.leases import Claim
from apps.jobs.models import Job
from apps.leases import LeaseLost
from apps.trainings import best, operations, records, topics
from tests.apps.trainings.trainings import add_checkpoint, claimed, row, small

DUEL = "duel:KuhnPoker-v0-vs-random"
OFFERED = re.compile(r'id="checkpoints"\s+data-may-evaluate')
"""What shows the button of the owner."""


def rising_and_collapsing(job: Job) -> Claim:
    """Thirty updates: the return rises to the twelfth and falls again; one lucky update at the end."""
    claim = claimed(job)
    returns = {update: 1.0 - abs(update - 12) / 20 for update in range(1, 31)} | {30: 0.9}
    records.record_points(claim, [row(update, **{"return": value}) for update, value in returns.items()])
    for update in (5, 12, 20, 30):
        add_checkpoint(claim, update)
    return claim


def evaluations() -> list[Job]:
    return list(Job.objects.evaluations())


def test_the_best_has_the_highest_return_over_the_updates_around_it(ada: User) -> None:
    job = operations.submit(ada, small(updates=30))
    assert best.best_of(job) is None
    rising_and_collapsing(job)
    found = best.best_of(job)
    assert found is not None
    assert (found.checkpoint.update, found.first, found.last) == (12, 8, 17)
    assert found.mean == pytest.approx(sum(1 - abs(update - 12) / 20 for update in range(8, 18)) / 10)


def test_only_the_last_stage_of_a_curriculum_counts(ada: User) -> None:
    job = operations.submit(ada, small(updates=20))
    claim = claimed(job)
    easy = [row(update, **{"return": 0.9, "stage": 0}) for update in range(1, 11)]
    hard = (row(update, **{"return": 0.02 * update - 0.2, "stage": 1}) for update in range(11, 21))
    records.record_points(claim, [*easy, *hard])
    for update in (5, 18):
        add_checkpoint(claim, update)
    found = best.best_of(job)
    assert found is not None
    assert (found.checkpoint.update, found.first) == (18, 14)


def test_the_end_of_a_training_submits_it_once_even_if_it_is_extended(ada: User) -> None:
    job = operations.submit(ada, small(updates=30), evaluate_best=True)
    claim = rising_and_collapsing(job)
    assert evaluations() == []
    records.finish(claim)
    (evaluation,) = evaluations()
    assert evaluation.spec["benchmark"] == "games-easy"
    assert evaluation.agent.slug == f"checkpoint-{job.pk}-12"
    assert (evaluation.parent, evaluation.parent_update, evaluation.owner) == (job, 12, ada)
    with pytest.raises(LeaseLost):
        records.finish(claim)
    operations.extend(job.pk, ada, 1)
    records.finish(claimed(job))
    assert evaluations() == [evaluation], "the same checkpoint is still the best"


def test_without_the_tick_nothing_is_submitted_until_somebody_asks(client: Client, ada: User) -> None:
    job = operations.submit(ada, small(updates=30))
    client.force_login(ada)
    address = f"{job.get_absolute_url()}change/"
    records.finish(rising_and_collapsing(job))
    assert evaluations() == []
    assert "Evaluate the best checkpoint<" in client.get(job.get_absolute_url()).content.decode()
    for _ in range(2):
        client.post(address, {"do": "evaluate"})
    (evaluation,) = evaluations()
    page = client.get(job.get_absolute_url()).content.decode()
    assert evaluation.get_absolute_url() in page
    assert "Evaluate the best checkpoint<" not in page
    assert "update 12" in client.get(evaluation.get_absolute_url()).content.decode()


def test_asked_for_while_it_runs_it_waits_for_the_end(client: Client, ada: User) -> None:
    job = operations.submit(ada, small(updates=30))
    claim = rising_and_collapsing(job)
    client.force_login(ada)
    client.post(f"{job.get_absolute_url()}change/", {"do": "evaluate"})
    assert evaluations() == []
    assert "will be evaluated on the benchmark games-easy when the training is done" in " ".join(
        client.get(job.get_absolute_url()).content.decode().split()
    )
    records.finish(claim)
    assert len(evaluations()) == 1


def test_an_environment_of_no_benchmark_is_played_itself(ada: User) -> None:
    job = operations.submit(ada, small(updates=30, env_id=DUEL), evaluate_best=True)
    records.finish(rising_and_collapsing(job))
    (evaluation,) = evaluations()
    assert (evaluation.spec["benchmark"], evaluation.spec["env_ids"]) == (None, [DUEL])
    assert (evaluation.spec["seed"], evaluation.spec["episodes_per_env"]) == (1000, 100)


def test_a_policy_that_played_itself_has_no_best_checkpoint(ada: User) -> None:
    """Its opponents get better as it does, so a high return may only say that they were weak."""
    settings = {"env_id": "duel:KuhnPoker-v0", "self_play": True}
    job = operations.submit(ada, small(updates=30, **settings), evaluate_best=True)
    records.finish(rising_and_collapsing(job))
    assert best.best_of(job) is None
    assert "with self-play the return depends on opponents" in best.choose(job).reason
    assert evaluations() == []


def test_a_training_ends_although_its_owner_has_too_many_jobs(ada: User, settings: Settings) -> None:
    job = operations.submit(ada, small(updates=30), evaluate_best=True)
    claim = rising_and_collapsing(job)
    settings.JOBS_QUEUED_PER_USER = 0
    records.finish(claim)
    assert Job.objects.get(pk=job.pk).state == Job.State.DONE
    assert job.events.filter(text__contains="could not be submitted for evaluation: You have 0 queued jobs").exists()
    settings.JOBS_QUEUED_PER_USER = 5
    assert operations.evaluate_best(job.pk, ada) is not None


def test_others_cannot_ask_and_nothing_cannot_be_evaluated(ada: User) -> None:
    job = operations.submit(ada, small())
    with pytest.raises(NotYours):
        operations.evaluate_best(job.pk, User.objects.create_user("eve"))
    records.finish(claimed(job))
    with pytest.raises(JobRefusal, match="no checkpoint to evaluate"):
        operations.evaluate_best(job.pk, ada)


@pytest.mark.parametrize("rises", [True, False])
def test_the_button_of_an_open_page_follows_the_end_of_the_training(client: Client, ada: User, rises: bool) -> None:
    job = operations.submit(ada, small(updates=30))
    claim = rising_and_collapsing(job) if rises else claimed(job)
    client.force_login(ada)
    page = client.get(job.get_absolute_url()).content.decode()
    assert "data-evaluates-best" in page
    assert OFFERED.search(page)
    records.finish(claim)
    [event] = topics.events(Job.objects.get(pk=job.pk), 0, "")
    assert bool(OFFERED.search(event.html)) == rises
    client.post(f"{job.get_absolute_url()}change/", {"do": "evaluate"})
    [event] = topics.events(Job.objects.get(pk=job.pk), 0, "")
    assert not OFFERED.search(event.html)


def test_the_form_has_the_tick(client: Client, ada: User) -> None:
    client.force_login(ada)
    assert "Evaluate the best checkpoint at the end" in client.get("/jobs/train/").content.decode()
    client.post("/jobs/train/", {"recipe": "guess-easy", "evaluate_best": "on", "seeds": "3"})
    assert list(Job.objects.trainings().values_list("evaluate_best", flat=True)) == [True] * 3
