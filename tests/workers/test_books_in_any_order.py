"""Whatever workers ask, answer, lose and leave behind, in any order: the books hold, and so does the budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.jobs import leases, operations
from apps.jobs.books.reading import books_of
from apps.jobs.leases import Claim, recovery
from apps.jobs.models import EpisodeBooks, Job, Shard
from apps.leases import LeaseLost
from gem.agents.endpoint.amounts import NOTHING, Amount
from gem.agents.endpoint.ledger import Account, Entry
from gem.evaluation.spec import EvaluationSpec

if TYPE_CHECKING:
    from apps.accounts.models import User

WORKER = st.integers(0, 1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), WORKER, st.integers(1, 400), st.integers(1, 400)),
        st.tuples(st.just("answer"), WORKER, st.integers(0, 99), st.integers(0, 100)),
        st.tuples(st.just("lose"), WORKER, st.integers(0, 99), st.integers(0, 100)),
        st.tuples(st.just("release"), WORKER, st.integers(0, 99), st.just(0)),
        st.tuples(st.just("die"), WORKER, st.just(0), st.just(0)),
    ),
    min_size=5,
    max_size=40,
)


class Server:
    """Counts what it has served, and two workers that reserve and book their requests for it."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.served = 0
        self.is_exact = True
        self.number = 0
        claims = [leases.claim(), leases.claim()]
        self.claims = [claim for claim in claims if claim is not None]
        self.open: list[list[tuple[Claim, Entry]]] = [[], []]

    def step(self, kind: str, place: int, first: int, second: int) -> None:
        if kind == "ask":
            self.ask(place, Amount(first, second))
        elif kind == "die":
            self.die(place)
        elif self.open[place]:
            self.close(kind, *self.open[place].pop(first % len(self.open[place])), second)

    def ask(self, place: int, bound: Amount) -> None:
        self.number += 1
        entry = Entry(self.number, Account(self.number % 5), bound)
        try:
            granted = self.claims[place].books().write([], [entry]).granted
        except LeaseLost:
            granted = 0
        if granted:
            self.open[place].append((self.claims[place], entry))

    def close(self, kind: str, claim: Claim, entry: Entry, share: int) -> None:
        """End a request: the server has used a share of what was reserved, which the worker learns or not."""
        bound = entry.bound
        used = NOTHING if kind == "release" else Amount(bound.tokens_in * share // 100, bound.tokens_out * share // 100)
        self.served += used.tokens
        if kind == "lose":
            self.is_exact = False
            entry = entry._replace(used=bound, is_estimated=True)
        else:
            entry = entry._replace(used=used, is_sent=kind != "release")
        claim.books().write([entry], [])

    def die(self, place: int) -> None:
        """Kill a worker: nobody learns the end of half of its requests, and the answers of the others come late."""
        Shard.objects.filter(pk=self.claims[place].shard_id).expire()
        recovery.reap()
        lost, late = self.open[place][::2], self.open[place][1::2]
        self.open[place] = late
        for _, entry in lost:
            self.is_exact = False
            self.served += entry.bound.tokens
        self.claims[place] = leases.claim() or self.claims[place]  # after some attempts the job has failed


def check(job: Job, server: Server, budget: int) -> None:
    books = books_of(job.pk)
    assert server.served <= books.tokens + books.reserved <= budget
    if server.is_exact and not any(server.open):
        assert (books.tokens, books.estimated, books.reserved) == (server.served, 0, 0)
    rows = EpisodeBooks.objects.filter(job=job)
    assert sum(row.tokens for row in rows) == books.tokens
    assert sum(row.requests for row in rows) == books.requests


def play_out(owner: User, steps: list[Any], budget: int) -> None:
    spec = {"agent": "random", "env_ids": ("game:GuessTheNumber-v0-hard",), "episodes_per_env": 3000, "num_envs": 4}
    job = operations.submit(owner, EvaluationSpec.model_validate({**spec, "token_budget": budget}))
    server = Server(job)
    for step in steps:
        server.step(*step)
        check(job, server, budget)
    for place in (0, 1):
        while server.open[place]:
            server.step("answer", place, 0, 50)
    check(job, server, budget)
    assert not books_of(job.pk).reserved
    operations.cancel(job.pk, owner)


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, st.integers(100, 4000))
def test_the_books_hold_in_any_order(owner: User, steps: list[Any], budget: int) -> None:
    play_out(owner, steps, budget)


@pytest.mark.long
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(STEPS, st.integers(100, 4000))
def test_the_books_hold_in_very_many_orders(owner: User, steps: list[Any], budget: int) -> None:
    play_out(owner, steps, budget)
