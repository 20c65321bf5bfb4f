"""Whose failure an exception is."""

from collections.abc import Sequence

import pytest

import gem
from gem.agents import Decision, Request
from gem.errors import AgentFailure, AgentStopped, EnvironmentFailure, EpisodeOver, InvalidArgument, failure_of
from gem.rollout import EpisodeRequest, rollout


@pytest.mark.parametrize("callee", ["agent", "environment"])
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (AgentFailure("no answer"), "no answer"),
        (AgentStopped("no key"), "no key"),
        (EnvironmentFailure("its process ended"), "its process ended"),
        (ZeroDivisionError("by chance"), "ZeroDivisionError: by chance"),
        (TimeoutError(), "TimeoutError: "),
    ],
)
def test_a_failure_is_of_whoever_was_called(callee, error: Exception, message: str) -> None:
    assert failure_of(error, callee) == (callee, message)


@pytest.mark.parametrize("callee", ["agent", "environment"])
def test_wrong_use_is_ours(callee) -> None:
    for error in (InvalidArgument("no such seed"), EpisodeOver("reset first")):
        assert failure_of(error, callee) == ("ours", str(error))


class Silent:
    """An agent that gives no answer."""

    name = "silent"

    async def decide(self, request: Request) -> Decision:
        raise AgentFailure("It gave no answer.")

    async def close(self) -> None:
        pass


class Misused:
    """An agent that uses the engine wrongly."""

    name = "misused"

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        gem.make("game:GuessTheNumber-v0", no_such_argument=1)
        return []


def test_a_rollout_records_the_side_and_lets_our_own_failures_through() -> None:
    requests = [EpisodeRequest(i, "game:GuessTheNumber-v0-easy", i) for i in range(2)]
    records = list(rollout(Silent(), requests))
    assert [(record.failed_by, record.failure) for record in records] == [("agent", "It gave no answer.")] * 2
    with pytest.raises(InvalidArgument):
        list(rollout(Misused(), requests))
