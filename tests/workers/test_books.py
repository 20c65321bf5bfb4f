"""The books of jobs: what a server has served, whatever becomes of workers and answers, and never above the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.accounts.models import CpuUse
from apps.episodes.models import Episode
from apps.episodes.templatetags.episodes import outcome_parts
from apps.jobs import leases, operations
from apps.jobs.books.reading import books_by_episode, books_of
from apps.jobs.books.turns import JobTurns
from apps.jobs.leases import recovery
from apps.jobs.models import EpisodeBooks, Job, JobBooks, Reservation, Shard
from apps.leases import LeaseLost
from gem.agents.endpoint import EndpointSpec
from gem.agents.endpoint.amounts import Amount
from gem.agents.endpoint.ledger import Account, Entry, Verdict
from gem.errors import BudgetUsedUp
from gem.evaluation.spec import EvaluationSpec
from gem.evaluation.turn_budget import TurnBudget
from tests.model_server import ModelServer, model_server
from tests.workers.processes import PATIENCE, wait_until, worker
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
    """Submit an evaluation of a model of that server, whose answers are limited."""
    from apps.agents import operations as agents

    def _submit(model: str, episodes: int = 20, agent: dict[str, Any] | None = None, **more: Any) -> Job:
        settings = {"timeout": 5, "patience": 5, "tries": 1, "max_tokens": 200, "concurrency": 32, **(agent or {})}
        made = agents.create(owner, model, EndpointSpec(url=server.url, model=model, **settings))
        asked = {"agent": made.slug, "env_ids": (ENV_ID,), "episodes_per_env": episodes, "num_envs": 16, **more}
        return operations.submit(owner, EvaluationSpec.model_validate(asked))

    return _submit


def played(job: Job) -> Job:
    """Play all shards of a job in this process; a job that does not end fails the test instead of holding it up."""
    until = monotonic() + PATIENCE

    def is_late() -> bool:
        return monotonic() > until

    while (claim := leases.claim()) is not None:
        assert not is_late(), f"after {PATIENCE:.0f} s shards of the job are still open"
        with Lease(claim, is_late) as lease:
            play(claim, lease, CpuMeter(None, CpuUse.Use.JOBS))
    job.refresh_from_db()
    return job


def served(server: ModelServer) -> int:
    return server.tokens_in + server.tokens_out


def test_a_budget_stops_the_job_before_it_is_exceeded(submit_endpoint: Submit, server: ModelServer) -> None:
    """The case of a budget of 15,000 tokens and 32 episodes at a time."""
    job = played(submit_endpoint("bisect", episodes=300, num_envs=32, token_budget=15_000))
    books = books_of(job.pk)
    assert (job.state, job.state_in_words) == (Job.State.STOPPED, "stopped by its budget")
    assert job.reason.startswith("The budget of 15,000 tokens is used up.")
    assert books.tokens == served(server) <= 15_000
    assert (books.requests, books.estimated, books.reserved) == (len(server.requests), 0, 0)
    assert 0 < job.episodes_done < 300
    assert all(Episode.objects.filter(batch=job.batch_id).values_list("success", flat=True))
    assert set(job.shards.values_list("state", flat=True)) == {Shard.State.STOPPED}
    ended = job.events.get(kind="ended")
    assert (ended.data["state"], ended.data["result"]["tokens_in"]) == ("stopped", books.tokens_in)
    assert "cancelled" not in ended.text
    begun = EpisodeBooks.objects.filter(job=job).count()
    assert ended.data["cut_off"] == begun - job.episodes_done > 0, "the long ones are missing, and the page says so"
    assert sum(one.tokens for one in EpisodeBooks.objects.filter(job=job)) == books.tokens


def test_money_is_a_budget_too(submit_endpoint: Submit, server: ModelServer) -> None:
    prices = {"tokens_in": 1.0, "tokens_out": 10.0}
    job = played(submit_endpoint("bisect", episodes=60, agent={"prices": prices}, money_budget=0.02))
    books = books_of(job.pk)
    assert job.state == Job.State.STOPPED
    assert "0.02" not in job.reason, "only those who may see the prices may see the sum"
    assert books.money == Decimal(server.tokens_in + 10 * server.tokens_out) / 1_000_000
    assert Decimal("0.01") < books.money <= Decimal("0.02")


def test_an_episode_ends_at_its_own_limit_unsolved(submit_endpoint: Submit) -> None:
    job = played(submit_endpoint("bisect", episodes=6, max_episode_tokens=1000))
    assert job.state == Job.State.DONE
    cut = Episode.objects.filter(batch=job.batch_id, cut="tokens")
    assert 0 < cut.count() == sum(shard.limited for shard in job.shards.all())
    for episode in cut:
        assert (episode.truncated, episode.success, episode.outcome) == (True, False, "limit")
    assert all(books.tokens <= 1000 for books in books_by_episode(job).values())


def test_the_money_of_an_episode_is_limited_too(submit_endpoint: Submit) -> None:
    prices = {"tokens_in": 1.0, "tokens_out": 10.0}
    job = played(submit_endpoint("bisect", episodes=6, agent={"prices": prices}, max_episode_money=0.003))
    assert job.state == Job.State.DONE
    cut = Episode.objects.filter(batch=job.batch_id, cut="money")
    assert 0 < cut.count() == sum(shard.limited for shard in job.shards.all())
    for episode in cut:
        assert (episode.truncated, episode.success, episode.outcome) == (True, False, "limit")
        assert outcome_parts(episode)[2] == "Money limit"
    assert all(books.money <= Decimal("0.003") for books in books_by_episode(job).values())


def test_a_job_stops_at_its_turn_budget(submit: Submit) -> None:
    job = played(submit(episodes=200, turn_budget=500))
    assert (job.state, job.state_in_words) == (Job.State.STOPPED, "stopped by its budget")
    assert job.reason == "The budget of 500 turns is used up."
    assert 0 < job.episodes_done < 200
    assert JobBooks.objects.get(pk=job.pk).turns == 500, "no turn is left, and none began beyond the budget"
    assert 500 - 16 * 10 <= job.turns_done <= 500, "those of at most 16 episodes were cut off"
    assert set(job.shards.values_list("state", flat=True)) == {Shard.State.STOPPED}


def test_a_turn_budget_holds_for_the_turns_of_models_too(submit_endpoint: Submit, server: ModelServer) -> None:
    job = played(submit_endpoint("bisect", episodes=60, turn_budget=90))
    assert (job.state, JobBooks.objects.get(pk=job.pk).turns) == (Job.State.STOPPED, 90)
    assert 0 < job.episodes_done < 60
    assert job.turns_done <= len(server.requests) <= 90


def test_what_a_turn_budget_leaves_over_is_given_back(submit: Submit) -> None:
    job = played(submit(episodes=20, turn_budget=10_000))
    assert job.state == Job.State.DONE
    assert JobBooks.objects.get(pk=job.pk).turns == job.turns_done


def test_workers_share_a_turn_budget_and_a_lost_one_takes_its_block_with_it(submit: Submit) -> None:
    job = submit(turn_budget=100)
    first, second = TurnBudget(JobTurns(job.pk, 100)), TurnBudget(JobTurns(job.pk, 100))
    first.take(0)  # and it is lost: nobody gives its block back
    lost = JobBooks.objects.get(pk=job.pk).turns
    taken = 0
    with second, pytest.raises(BudgetUsedUp, match="The budget of 100 turns is used up"):
        while True:
            second.take(1)
            taken += 1
    assert 1 <= lost <= 25
    assert taken == 100 - lost
    assert JobBooks.objects.get(pk=job.pk).refusal == "The budget of 100 turns is used up."


def test_without_a_budget_everything_is_booked_as_well(submit_endpoint: Submit, server: ModelServer) -> None:
    job = played(submit_endpoint("bisect", agent={"max_tokens": None}))
    books = books_of(job.pk)
    assert (job.state, books.tokens, books.estimated) == (Job.State.DONE, served(server), 0)
    assert len(books_by_episode(job)) == 20
    assert not Reservation.objects.exists()


def test_a_budget_that_cannot_be_kept_is_refused(submit_endpoint: Submit) -> None:
    from apps.jobs.errors import NoLimits

    with pytest.raises(NoLimits, match="sets no limit for the tokens of an answer"):
        submit_endpoint("bisect", agent={"max_tokens": None}, token_budget=1000)
    with pytest.raises(NoLimits, match="has no prices"):
        submit_endpoint("bisect", money_budget=1.0)


def test_a_cancelled_job_books_what_was_under_way(submit_endpoint: Submit, server: ModelServer, owner: User) -> None:
    job = submit_endpoint("hang", episodes=8, num_envs=8, agent={"timeout": 60, "patience": 60})

    def cancel() -> None:
        wait_until(lambda: len(server.requests) == 8, "all requests")
        operations.cancel(job.pk, owner)
        connection.close()

    canceller = Thread(target=cancel)
    canceller.start()
    played(job)
    canceller.join(PATIENCE)
    assert not canceller.is_alive()
    books = books_of(job.pk)
    assert (job.state, books.requests, books.reserved) == (Job.State.CANCELLED, 8, 0)
    assert served(server) <= books.tokens == books.estimated


def test_a_lost_worker_s_requests_are_estimated_until_it_answers_after_all(submit_endpoint: Submit) -> None:
    job = submit_endpoint("bisect", token_budget=5000)
    claim = leases.claim()
    assert claim is not None
    store = claim.books()
    entries = [Entry(number, Account(0), Amount(1000, 200)) for number in (1, 2, 3, 4, 5)]
    assert store.write([], entries) == Verdict(4), "the fifth may have room later"
    assert books_of(job.pk).reserved == 4800
    Shard.objects.update(lease_until=connection.ops.adapt_datetimefield_value(job.created))
    assert recovery.reap() == 1
    books = books_of(job.pk)
    assert (books.tokens, books.estimated, books.reserved, books.requests) == (4800, 4800, 0, 4)
    with pytest.raises(LeaseLost):
        store.write([], [Entry(6, Account(0), Amount(1, 1))])
    assert store.write([entries[0]._replace(used=Amount(10, 5))], []) == Verdict(0)
    assert store.write([entries[0]._replace(used=Amount(10, 5))], []) == Verdict(0), "nothing is booked twice"
    books = books_of(job.pk)
    assert (books.tokens, books.estimated, books.requests) == (3615, 3600, 4)
    assert JobBooks.objects.get(job=job).tokens == EpisodeBooks.objects.get(job=job).tokens


def test_two_workers_share_one_budget(submit_endpoint: Submit) -> None:
    submit_endpoint("bisect", episodes=300, num_envs=2, token_budget=2000)
    first, second = leases.claim(), leases.claim()
    assert first is not None
    assert second is not None
    ask = Entry(1, Account(0), Amount(900, 300))
    assert first.books().write([], [ask]) == Verdict(1)
    assert second.books().write([], [ask]) == Verdict(0), "there is room when the first is over"
    assert first.books().write([ask._replace(used=Amount(900, 300))], []) == Verdict(0)
    refused = second.books().write([], [ask])
    assert refused.refusal.startswith("The budget of 2,000 tokens is used up. 1,200 are booked")
    assert first.books().write([], [Entry(2, Account(1), Amount(1, 1))]).refusal == refused.refusal
    leases.stop_over_budget(first, refused.refusal)
    assert Job.objects.get().state == Job.State.RUNNING, "the other one plays on"
    leases.stop_over_budget(second, refused.refusal)
    assert Job.objects.get().state == Job.State.STOPPED


@pytest.mark.long
@pytest.mark.fault
@pytest.mark.parametrize("budget", [1500, 4000, 15_000, 60_000])
def test_killed_workers_and_lost_answers_never_exceed_the_budget(
    submit_endpoint: Submit, server: ModelServer, budget: int
) -> None:
    server.delay = 0.05
    server.fates = ["bisect", "bisect", "broken-off", "bisect", "reset", "bisect", "uncounted"]
    job = submit_endpoint(
        "fated", episodes=1200, num_envs=32, token_budget=budget, agent={"on_failure": "forfeit", "max_tokens": 60}
    )

    def gone_on(requests: int) -> Callable[[], bool]:
        """Whether so many were sent and an episode has ended since: of a shard that loses every worker at once, the job
        fails."""
        before = Episode.objects.count()
        return lambda: (
            Job.objects.get(pk=job.pk).over or (len(server.requests) >= requests and Episode.objects.count() > before)
        )

    for count in (10, 25, 45):
        with worker("--concurrency", "2") as running:
            wait_until(gone_on(count), "requests")
            running.kill()
    with worker("--concurrency", "2"):
        wait_until(lambda: Job.objects.get(pk=job.pk).over, "the end of the job")
    wait_until(lambda: not server.busy, "the last answers")
    recovery.reap()
    books = books_of(job.pk)
    assert served(server) <= books.tokens <= budget
    assert books.tokens - books.estimated <= served(server), "what is not estimated was counted by the server"
    assert len(server.requests) <= books.requests
    assert Job.objects.get(pk=job.pk).state == Job.State.STOPPED


FATES = ("bisect", "bisect", "bisect", "500", "broken-off", "reset", "uncounted")


@pytest.mark.long
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from([600, 1500, 6000, 15_000, 40_000]),
    st.sampled_from([1, 4, 16, 64]),
    st.lists(st.sampled_from(FATES), min_size=1, max_size=7),
)
def test_the_books_of_a_job_hold_at_any_budget_whatever_becomes_of_its_answers(
    submit_endpoint: Submit, server: ModelServer, budget: int, num_envs: int, fates: list[str]
) -> None:
    server.fates, server.tokens_in, server.tokens_out = ["bisect", *fates], 0, 0
    del server.requests[:]
    agent = {"on_failure": "forfeit", "max_tokens": 60, "concurrency": num_envs}
    job = played(submit_endpoint("fated", episodes=400, num_envs=num_envs, token_budget=budget, agent=agent))
    wait_until(lambda: not server.busy, "the last answers")
    books = books_of(job.pk)
    assert books.reserved == 0
    assert books.tokens - books.estimated <= served(server) <= books.tokens <= budget
    if set(fates) == {"bisect"}:
        assert (books.tokens, books.estimated) == (served(server), 0), "every answer arrived"
