"""Endpoint agents in jobs: many episodes at a time, errors apart from failures, and what a job keeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection

from apps.accounts.models import CpuUse
from apps.episodes.models import Episode, Turn
from apps.jobs import leases, operations
from apps.jobs.models import Job, Shard
from apps.jobs.results import Tally
from gem.agents.endpoint import EndpointSpec
from gem.evaluation.spec import EvaluationSpec
from tests.model_server import ModelServer, model_server
from tests.workers.processes import wait_until, worker
from workers.evaluate import play
from workers.playing.cpu import CpuMeter
from workers.playing.lease import Lease

if TYPE_CHECKING:
    from apps.accounts.models import User

ENV_ID = "game:GuessTheNumber-v0-hard"
Submit = Callable[..., Job]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


@pytest.fixture
def submit_endpoint(owner: User, server: ModelServer) -> Submit:
    """Submit an evaluation of a model of that server."""
    from apps.agents import operations as agents

    def _submit(model: str, episodes: int = 20, agent: dict[str, Any] | None = None, **more: Any) -> Job:
        spec = EndpointSpec(url=server.url, model=model, **{"timeout": 2, "patience": 2, "tries": 1, **(agent or {})})
        made = agents.create(owner, model, spec)
        asked = {"agent": made.slug, "env_ids": (ENV_ID,), "episodes_per_env": episodes, "num_envs": 16, **more}
        return operations.submit(owner, EvaluationSpec.model_validate(asked))

    return _submit


def played(job: Job) -> Job:
    """Play all shards of a job in this process."""
    while (claim := leases.claim()) is not None:
        with Lease(claim, lambda: False) as lease:
            play(claim, lease, CpuMeter(None, CpuUse.Use.JOBS))
    job.refresh_from_db()
    return job


def tally(job: Job) -> Tally:
    return Tally.of(job.shards.all())


def test_a_job_keeps_tokens_and_how_the_agent_was_set_up(submit_endpoint: Submit) -> None:
    prices = {"tokens_in": 1.0, "tokens_out": 10.0}
    job = played(submit_endpoint("bisect", agent={"temperature": 0.5, "prices": prices}))
    assert job.state == Job.State.DONE
    assert job.set_up["temperature"] == 0.5
    assert "url" not in job.set_up
    extras = [turn.extra for turn in Turn.objects.filter(episode__batch=job.batch_id)]
    assert all(extra and extra["note"] for extra in extras)
    found = tally(job)
    assert found.tokens_in == sum(extra["tokens_in"] for extra in extras if extra)
    assert found.tokens_out == sum(extra["tokens_out"] for extra in extras if extra)
    assert found.errors == 0
    assert 0 < job.seconds_agent <= job.seconds_busy


def test_the_time_of_an_agent_counts_while_it_is_still_awaited(submit_endpoint: Submit, server: ModelServer) -> None:
    """Most of a job with a slow server is the agent's, however the episodes overlap."""
    server.delay = 0.3
    job = played(submit_endpoint("bisect"))
    assert job.seconds_agent > job.seconds_busy / 2


@pytest.mark.parametrize("form", ["tags", "native"])
def test_an_agent_uses_the_tools_that_the_job_adds(submit_endpoint: Submit, form: str) -> None:
    more = {"tools": ("python",), "max_tool_uses": 2, "tool_format": form}
    style = {"style": "tools" if form == "native" else "text"}
    job = played(submit_endpoint("computes", episodes=3, agent=style, **more))
    assert job.state == Job.State.DONE, job.reason
    for episode in Episode.objects.filter(batch=job.batch_id):
        first = episode.turns.get(number=1)
        assert [(one["function"], one["output"].strip()) for one in first.info["tool_calls"]] == [("python", "42")]
        assert episode.success, "after the tool's answer it guesses as well as ever"


def test_many_episodes_are_asked_for_at_the_same_time(submit_endpoint: Submit, server: ModelServer) -> None:
    server.delay = 0.1
    played(submit_endpoint("bisect", agent={"concurrency": 10}))
    assert server.busiest == 10


def test_episodes_without_an_answer_are_apart_from_lost_ones(submit_endpoint: Submit, server: ModelServer) -> None:
    more = {"num_envs": 2, "max_error_share": 1.0}
    job = played(submit_endpoint("flaky-1-400", episodes=8, agent={"history": 0}, **more))
    found = tally(job)
    assert found.unanswered == found.errors
    assert found.unanswered > 0
    assert found.n + found.unanswered == 8
    broken = Episode.objects.filter(batch=job.batch_id, status="failed")
    assert {episode.failed_by for episode in broken} == {"agent"}
    assert all("gave no answer at turn" in episode.failure for episode in broken)
    assert job.events.filter(tone="loss", text__contains="no answer from the agent, not counted").exists()


def test_a_server_that_is_not_there_ends_the_job_with_the_reason(submit_endpoint: Submit, server: ModelServer) -> None:
    job = played(submit_endpoint("400", episodes=500))
    assert job.state == Job.State.FAILED
    assert "10 turns in a row without an answer" in job.reason
    assert "The server answered 400." in job.reason
    assert len(server.requests) < 100
    assert not job.shards.filter(state__in=["queued", "running"]).exists()


def test_stopping_at_the_first_failure_ends_the_job_once(submit_endpoint: Submit, server: ModelServer) -> None:
    job = played(submit_endpoint("500", agent={"on_failure": "stop"}))
    assert job.state == Job.State.FAILED
    assert max(shard.attempt for shard in job.shards.all()) == 1


def test_each_episode_is_recorded_as_it_ends(submit_endpoint: Submit, server: ModelServer) -> None:
    server.delay = 0.1
    job = submit_endpoint("bisect", episodes=6, num_envs=1)
    seen: list[int] = []

    def look() -> None:
        while len(seen) < 2:
            done = Job.objects.get(pk=job.pk).episodes_done
            if done and done not in seen:
                seen.append(done)
            time.sleep(0.02)
        connection.close()

    watcher = Thread(target=look)
    watcher.start()
    played(job)
    watcher.join()
    assert seen[0] < 6


def test_cancelling_reaches_a_worker_that_waits_for_a_server(
    submit_endpoint: Submit, server: ModelServer, owner: User
) -> None:
    job = submit_endpoint("hang", agent={"timeout": 240, "patience": 240})

    def cancel() -> None:
        wait_until(lambda: len(server.requests) > 0, "a request")
        operations.cancel(job.pk, owner)
        connection.close()

    canceller = Thread(target=cancel)
    canceller.start()
    started = time.monotonic()
    played(job)
    canceller.join()
    assert job.state == Job.State.CANCELLED
    assert time.monotonic() - started < 240


def test_repeats_play_each_seed_so_often(submit_endpoint: Submit) -> None:
    job = played(submit_endpoint("bisect", episodes=5, repeats=3))
    seeds = Episode.objects.filter(batch=job.batch_id).order_by("slot").values_list("seed", flat=True)
    assert list(seeds) == [*range(5)] * 3
    assert job.episodes_total == 15


@pytest.mark.fault
def test_a_killed_worker_loses_only_what_was_under_way(submit_endpoint: Submit, server: ModelServer) -> None:
    server.delay = 0.1
    job = submit_endpoint("bisect", episodes=60, num_envs=8)
    with worker("--concurrency", "1") as first:
        wait_until(lambda: Job.objects.get(pk=job.pk).episodes_done > 10, "ten episodes")
        first.kill()
    kept = set(Episode.objects.filter(batch=job.batch_id).values_list("pk", flat=True))
    with worker("--concurrency", "2"):
        wait_until(lambda: Job.objects.get(pk=job.pk).over, "the end of the job")
    slots = list(Episode.objects.filter(batch=job.batch_id).values_list("slot", flat=True))
    assert sorted(slot for slot in slots if slot is not None) == list(range(60))
    assert kept <= set(Episode.objects.filter(batch=job.batch_id).values_list("pk", flat=True))
    assert Shard.objects.filter(job=job, state="done").count() == job.shards.count()
