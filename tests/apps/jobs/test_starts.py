"""When queued jobs start: hand-computed from who shares the workers, and what is not known is said."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import CpuUse, User
from apps.accounts.quotas import CPU_SECONDS, record_cpu, set_limit
from apps.agents.models import Agent
from apps.jobs import admission, operations
from apps.jobs.estimates import starts
from apps.jobs.estimates.starts import Line, Start, Work, start
from apps.jobs.models import Job
from gem.evaluation.spec import EvaluationSpec
from tests.apps.jobs.test_estimates import EASY, model, played
from tests.html import tight

ADA, BOB = 1, 2


def running(name: str, seconds: float, *, is_known: bool = True) -> Work:
    return Work(name, True, (0, "", name), seconds, is_known)


def waiting(name: str, seconds: float, *, is_known: bool = True) -> Work:
    return Work(name, False, (0, name, name), seconds, is_known)


def test_a_job_waits_for_those_of_its_owner_and_as_much_work_of_everybody_else() -> None:
    works = {
        ADA: [running("a", 100.0), waiting("b", 50.0), waiting("c", 30.0)],
        BOB: [running("x", 20.0), waiting("y", 10.0)],
    }
    line = Line(works=works, cap=1, workers=1)
    assert start(line, ADA, (0, "b", "b")) == Start(1, 100.0 + 30.0)
    assert start(line, ADA, (0, "c", "c")) == Start(2, 150.0 + 30.0)
    assert start(line, BOB, (0, "y", "y")) == Start(1, 20.0 + 20.0)
    assert start(line, 3, (0, "~", "")) == Start(2, 0.0), "somebody else begins at once, if a worker is free"
    twice = Line(works=works, cap=1, workers=2)
    assert start(twice, ADA, (0, "c", "c")).seconds == 90.0


def test_jobs_of_one_owner_that_run_together_share_their_part() -> None:
    works = {ADA: [running("a", 10.0), running("b", 30.0), waiting("c", 5.0), waiting("d", 1.0)]}
    line = Line(works=works, cap=2, workers=1)
    assert start(line, ADA, (0, "c", "c")).seconds == 20.0, "a ends when both have got 10 s"
    assert start(line, ADA, (0, "d", "d")).seconds == 30.0, "c ends when b and c have got 5 s more"
    assert start(Line(works=works, cap=None, workers=1), ADA, (0, "d", "d")).seconds == 0.0


def test_when_all_workers_are_busy_ones_turn_is_awaited() -> None:
    works = {ADA: [running("a", 1000.0)], BOB: [waiting("x", 1.0)], 3: [waiting("y", 1.0)]}
    line = Line(works=works, cap=4, workers=2, busy=2, slice_seconds=5.0, served=[BOB, 3])
    assert start(line, BOB, (0, "x", "x")).seconds == 2.5
    assert start(line, 3, (0, "y", "y")).seconds == 5.0


def test_a_training_keeps_its_worker_until_it_ends_or_somebody_else_has_waited_for_a_slice() -> None:
    works = {ADA: [running("a", 20.0), waiting("b", 60.0), waiting("c", 5.0)]}
    line = Line(works=works, cap=2, workers=1, busy=1, slice_seconds=900.0, served=[ADA], is_whole=True)
    assert start(line, ADA, (0, "b", "b")) == Start(0, 20.0), "no slice is over for a training of the same person"
    assert start(line, ADA, (0, "c", "c")) == Start(1, 80.0), "one after the other, though two may run"
    assert start(line, BOB, (0, "x", "x")).seconds == 920.0, "after a, and a slice of b"
    alone = Line({ADA: works[ADA][:1]}, workers=1, busy=1, slice_seconds=900.0, served=[BOB], is_whole=True)
    assert start(alone, BOB, (0, "x", "x")).seconds == 20.0, "it ends before its slice"
    long = Line({ADA: [running("a", 5000.0)]}, workers=1, busy=1, slice_seconds=900.0, served=[BOB], is_whole=True)
    assert start(long, BOB, (0, "x", "x")).seconds == 900.0
    both = {ADA: [running("a", 70.0), waiting("b", 5.0)], BOB: [running("x", 5000.0)]}
    two = Line(both, cap=2, workers=2, busy=2, slice_seconds=900.0, served=[ADA], is_whole=True)
    assert start(two, ADA, (0, "b", "b")).seconds == 70.0, "Bob, who has as many workers, does not give way"
    begun = Line({ADA: [running("a", 0.0, is_known=False)]}, workers=1, busy=1, served=[ADA], is_whole=True)
    assert start(begun, ADA, (0, "b", "b")) == Start(0, 0.0, unknown=1), "its first update is not made yet"


def test_what_is_unknown_is_said() -> None:
    works = {ADA: [running("a", 60.0), waiting("b", 1.0)], BOB: [running("x", 5.0, is_known=False)]}
    assert start(Line(works=works, cap=1, workers=1), ADA, (0, "b", "b")) == Start(0, 65.0, unknown=1)
    assert start(Line(works=works, cap=1, workers=0), ADA, (0, "b", "b")).seconds is None
    over = Line(works=works, cap=1, workers=1, over_cpu=frozenset([ADA]))
    assert start(over, ADA, (0, "b", "b")) == Start(0, None, over_cpu=True)


def test_a_long_line_is_read_again_beside_the_requests(
    transactional_db: None, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(starts, "SHORT", -1)
    monkeypatch.setattr(starts, "SHARED_SECONDS", 0)
    monkeypatch.setattr(starts, "_known", {})
    assert not starts.line_of(Job.Kind.EVALUATION).works
    job = _submit(ada, model("own"))
    assert not starts.line_of(Job.Kind.EVALUATION).works, "a request does not wait for it"
    assert starts._is_free.acquire(timeout=20), "it was read"
    starts._is_free.release()
    (works,) = starts.line_of(Job.Kind.EVALUATION).works.values()
    assert [work.job_id for work in works] == [job.pk]
    assert starts._is_free.acquire(timeout=20), "nothing is read any more"
    starts._is_free.release()


@pytest.fixture
def line(db: None, ada: User, monkeypatch: pytest.MonkeyPatch, settings: Any) -> tuple[User, Job, Job, Job]:
    """A worker; a running job of Ada's with 100 episodes of 2 s each left, one of an unknown agent, and another one."""
    settings.JOBS_RUNNING_PER_USER = 1
    monkeypatch.setattr(starts, "_workers", lambda _: 1)
    own, new = model("own"), model("new")
    played(own, EASY, (50, 200, 0, 100.0))
    jobs = [_submit(ada, agent) for agent in (own, new, own)]
    Job.objects.filter(pk=jobs[0].pk).update(state=Job.State.RUNNING)
    first, second, third = (Job.objects.get(pk=job.pk) for job in jobs)
    return ada, first, second, third


def _submit(owner: User, agent: Agent) -> Job:
    spec = {"agent": "random", "env_ids": (EASY,), "episodes_per_env": 100}
    job = operations.submit(owner, EvaluationSpec.model_validate(spec))
    Job.objects.filter(pk=job.pk).update(agent=agent)
    return job


def test_the_start_is_that_of_the_queue_with_measured_paces(line: tuple[User, Job, Job, Job]) -> None:
    ada, first, second, third = line
    found = starts.starts_of([first, second, third])
    assert found == {second.pk: Start(0, 200.0), third.pk: Start(1, 200.0, unknown=1)}
    assert {key: one.ahead for key, one in found.items()} == {
        job.pk: admission.jobs_ahead(job) for job in (second, third)
    }
    new = starts.start_of_new(Job.Kind.EVALUATION, ada.pk)
    assert new.ahead == admission.jobs_ahead_of_new(Job.Kind.EVALUATION, ada.pk)
    set_limit(ada, CPU_SECONDS, 1)
    record_cpu(CpuUse.Use.JOBS, {ada.pk: 10.0})
    Job.objects.filter(pk=third.pk).update(seq=99)
    assert starts.start_of(second) == Start(0, None, over_cpu=True)


def test_list_page_and_api_say_the_place_and_the_start(line: tuple[User, Job, Job, Job], client: Client) -> None:
    ada, first, second, third = line
    client.force_login(ada)
    page = tight(client.get("/jobs/"))
    assert "1st in the queue, starts in about 3\u00a0min 20\u00a0s" in page
    at_the_earliest = "starts in 3\u00a0min 20\u00a0s at the earliest"
    assert f"2nd in the queue, {at_the_earliest}: no estimate yet for 1 job ahead of it" in page
    assert "starts in about 3\u00a0min 20\u00a0s" in tight(client.get(second.get_absolute_url()))
    by_id = {item["id"]: item["start"] for item in client.get("/api/v1/jobs?mine=true").json()["items"]}
    assert by_id[first.pk] is None
    assert by_id[third.pk] == {"ahead": 1, "seconds": 200.0, "unknown": 1, "waits_for_midnight": False}
    assert client.get(f"/api/v1/jobs/{second.pk}").json()["start"]["seconds"] == 200.0


def test_without_a_worker_nobody_knows(line: tuple[User, Job, Job, Job], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starts, "_workers", lambda _: 0)
    Job.objects.filter(pk=line[1].pk).update(seq=77)
    found = starts.start_of(line[2])
    assert found is not None
    assert found.seconds is None
