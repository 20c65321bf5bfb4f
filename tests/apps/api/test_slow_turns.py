"""The turn of a slow environment, which a worker plays while the answer is written: the answer is from before or after.

A worker may play it before any query of the answer, so each test lets it play before the first query, before the
second, and so on, until the answer is written before the worker comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.episodes import operations as episodes
from apps.play import operations, pending
from tests.apps.api.conftest import Program

TOKEN = UUID(int=1)

pytestmark = pytest.mark.django_db


class Worker:
    """Plays the pending turn before the query with this number, counted from when it is sent for."""

    def __init__(self, before: int) -> None:
        self.before = before
        self.played = False
        self.waits = False

    def __call__(self, execute: Callable[..., Any], *query: Any) -> Any:
        """Let a query through, and play before it when its turn has come."""
        if self.waits:
            self.before -= 1
            if self.before == 0:
                self.waits, self.played = False, True
                (episode_id,) = pending.claim(TOKEN, 9)
                claim = pending.begin(episode_id, TOKEN)
                pending.finish(claim, TOKEN, episodes.step(claim.episode, claim.env, claim.action))
        return execute(*query)


def begin(program: Program) -> dict[str, Any]:
    """A new episode of a slow environment."""
    begun: dict[str, Any] = program.post("episodes", {"env_id": "math:GSM8K", "seed": 5}).json()
    return begun


def check(episode: dict[str, Any], begun: dict[str, Any]) -> bool:
    """Assert that an answer is of one moment; whether the turn was played then."""
    played: bool = episode["turn_count"] == 1
    assert (episode["terminated"], episode["pending"]) == (played, not played), episode
    assert (episode["observation"] != begun["observation"]) == played, episode
    return played


def test_the_answer_to_a_turn_is_of_one_moment(
    program_of: Callable[..., Program], owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, take_turn = program_of(owner), operations.take_turn
    seen = set()
    for before in range(1, 100):
        begun = begin(program)
        worker = Worker(before)

        def accept(*arguments: Any, worker: Worker = worker, **more: Any) -> Any:
            accepted = take_turn(*arguments, **more)
            worker.waits = True
            return accepted

        monkeypatch.setattr(operations, "take_turn", accept)
        with connection.execute_wrapper(worker):
            answer = program.post(
                f"episodes/{begun['id']}/turns", {"action": "\\boxed{1}", "expected_seq": begun["seq"]}
            )
        result = answer.json()
        played = check(result["episode"], begun)
        assert (answer.status_code, len(result["turns"])) == ((201, 1) if played else (202, 0)), result
        seen.add(played)
        if not worker.played:
            break
    assert (seen, worker.played) == ({True, False}, False)


def test_an_episode_is_read_as_of_one_moment(program_of: Callable[..., Program], owner: User) -> None:
    program = program_of(owner)
    seen = set()
    for before in range(1, 100):
        begun = begin(program)
        program.post(f"episodes/{begun['id']}/turns", {"action": "\\boxed{1}", "expected_seq": begun["seq"]})
        worker = Worker(before)
        worker.waits = True
        with connection.execute_wrapper(worker):
            seen.add(check(program.get(f"episodes/{begun['id']}").json(), begun))
        if not worker.played:
            break
    assert (seen, worker.played) == ({True, False}, False)
