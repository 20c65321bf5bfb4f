"""Requests are repeated when that can do nothing twice, after growing pauses or those that the server asks for."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from itertools import pairwise
from typing import Any

import pytest

from gem.client.clients import AsyncClient
from gem.client.errors import (
    BadRequest,
    Conflict,
    Forbidden,
    NotAuthenticated,
    NotFound,
    ServerFailure,
    TooManyRequests,
    Unacceptable,
    UnexpectedAnswer,
    Unreachable,
)
from gem.client.request import NOTHING, Request
from gem.client.retries import Retries, retry_after
from gem.client.runners import SyncRunner
from gem.errors import InvalidArgument
from tests.engine.client.faulty_server import FaultyServer, faulty_server, ok, page, problem, reset, silence

READ: Request[Any] = Request("GET", "account", dict)
CHANGE: Request[Any] = Request("POST", "episodes", dict, content={"env_id": "game:Sokoban-v0"})
DELETE: Request[None] = Request("DELETE", "jobs/x", NOTHING)
CREATE: Request[Any] = Request("POST", "episodes", dict, content={"env_id": "game:Sokoban-v0"}, keyed=True)


class Clock:
    """Waits for nothing, and remembers for how long it was to wait."""

    def __init__(self) -> None:
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)


@pytest.fixture
def clock() -> Clock:
    """No test waits."""
    return Clock()


def _runner(server: FaultyServer, clock: Clock, **settings: Any) -> SyncRunner:
    retries = Retries(source=random.Random(1), **settings)
    return SyncRunner(server.url, "gw_secret", retries=retries, timeout_seconds=5, sleep=clock.sleep)


@pytest.mark.parametrize(
    "fault", [problem(503, "Starting."), problem(502, "Down."), reset], ids=["503", "502", "reset"]
)
@pytest.mark.parametrize("request_", [READ, CREATE], ids=["read", "with a key"])
def test_what_may_be_repeated_is_repeated(request_: Request[Any], fault: Any, clock: Clock) -> None:
    with faulty_server(fault, fault, ok({"name": "ann"})) as server, _runner(server, clock) as runner:
        assert runner.send(request_) == {"name": "ann"}
    assert len(server.asked) == 3
    assert len(clock.pauses) == 2


def test_a_repeated_request_has_the_same_key(clock: Clock) -> None:
    with faulty_server(reset, ok({})) as server, _runner(server, clock) as runner:
        runner.send(CREATE)
        runner.send(CREATE)
    first, second, other = (asked.headers["idempotency-key"] for asked in server.asked)
    assert first == second != other
    assert server.asked[0].json == {"env_id": "game:Sokoban-v0"}


@pytest.mark.parametrize("fault", [problem(502, "Down."), reset], ids=["502", "reset"])
def test_what_is_gone_when_its_deletion_is_repeated_was_deleted(fault: Any, clock: Clock) -> None:
    gone = problem(404, "There is no such job.")
    with faulty_server(fault, gone) as server, _runner(server, clock) as runner:
        assert runner.send(DELETE) is None  # type: ignore[func-returns-value]  # which is what is asserted
    with faulty_server(fault, gone) as server, _runner(server, clock) as runner, pytest.raises(NotFound):
        runner.send(READ)


@pytest.mark.parametrize("faults", [[], [problem(503, "Starting.")]], ids=["at once", "before it was looked at"])
def test_what_was_not_there_before_its_deletion_is_not_found(faults: list[Any], clock: Clock) -> None:
    with (
        faulty_server(*faults, problem(404, "There is no such job.")) as server,
        _runner(server, clock) as runner,
        pytest.raises(NotFound),
    ):
        runner.send(DELETE)


@pytest.mark.parametrize("fault", [problem(503, "Starting."), reset], ids=["503", "reset"])
def test_a_change_without_a_key_is_sent_once(fault: Any, clock: Clock) -> None:
    with (
        faulty_server(fault, ok({})) as server,
        _runner(server, clock) as runner,
        pytest.raises((ServerFailure, Unreachable)),
    ):
        runner.send(CHANGE)
    assert len(server.asked) == 1


def test_what_was_refused_for_its_rate_is_repeated_when_the_server_says(clock: Clock) -> None:
    refusal = problem(429, "Too many requests.", Retry_After="7")
    with faulty_server(refusal, ok({})) as server, _runner(server, clock) as runner:
        runner.send(CHANGE)
    assert clock.pauses == [7.0]


def test_a_server_that_asks_for_too_long_a_pause_is_believed(clock: Clock) -> None:
    refusal = problem(429, "You have begun many episodes. Wait.", Retry_After="3600")
    with (
        faulty_server(refusal, ok({})) as server,
        _runner(server, clock) as runner,
        pytest.raises(TooManyRequests, match="many episodes") as raised,
    ):
        runner.send(READ)
    assert raised.value.retry_after == 3600
    assert clock.pauses == []


def test_the_same_request_that_is_being_answered_is_asked_for_again(clock: Clock) -> None:
    busy = problem(409, "The same request is being answered now.", Retry_After="1")
    with faulty_server(reset, busy, ok({"id": "x"})) as server, _runner(server, clock) as runner:
        assert runner.send(CREATE) == {"id": "x"}


def test_tries_come_to_an_end(clock: Clock) -> None:
    with (
        faulty_server(problem(503, "The site is starting.")) as server,
        _runner(server, clock, tries=3) as runner,
        pytest.raises(ServerFailure, match="The site is starting"),
    ):
        runner.send(READ)
    assert len(server.asked) == 3


def test_pauses_grow_and_differ() -> None:
    pauses = [Retries(source=random.Random(seed)) for seed in range(200)]
    means = [sum(retries.pause(attempt) for retries in pauses) / 200 for attempt in range(1, 5)]
    assert all(later > 1.5 * earlier for earlier, later in pairwise(means))
    assert len({retries.pause(3) for retries in pauses}) == 200
    assert max(retries.pause(10**6) for retries in pauses) <= Retries().longest_pause


def test_a_pause_is_a_number_or_a_date() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    date = format_datetime(now + timedelta(seconds=90), usegmt=True)
    assert retry_after({"retry-after": date}, now) == 90
    assert retry_after({"retry-after": "12"}) == 12
    assert retry_after({"retry-after": format_datetime(now - timedelta(days=1), usegmt=True)}, now) == 0
    assert [retry_after({"retry-after": text}) for text in ("", "soon", "-3", "1e9", "²")] == [0.0] * 5
    assert retry_after({}) == 0


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, BadRequest),
        (401, NotAuthenticated),
        (403, Forbidden),
        (404, NotFound),
        (409, Conflict),
        (422, Unacceptable),
        (500, ServerFailure),
    ],
)
def test_a_refusal_is_a_class_with_the_sentence_of_the_server(status: int, kind: type, clock: Clock) -> None:
    with (
        faulty_server(problem(status, "No, because of this.")) as server,
        _runner(server, clock) as runner,
        pytest.raises(kind, match=r"^No, because of this\.$") as raised,
    ):
        runner.send(READ)
    assert raised.value.status == status
    assert raised.value.problem["title"] == "Refused"
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (page(500, "<html>oops</html>"), "answered with status 500, without a reason"),
        (page(418, "I am a teapot"), "status 418: I am a teapot"),
        (page(200, "<html>a router</html>"), "not what this version of the client expects: it is not JSON. Check"),
        (page(200, "[]"), "not what this version of the client expects: input should be an object. Check"),
        (page(302, "", Location="https://elsewhere.example"), "on to https://elsewhere.example"),
    ],
)
def test_what_is_not_of_the_api_is_said_in_a_sentence(step: Any, words: str, clock: Clock) -> None:
    with (
        faulty_server(step) as server,
        _runner(server, clock) as runner,
        pytest.raises((ServerFailure, UnexpectedAnswer, Exception)) as raised,
    ):
        runner.send(READ)
    assert words in str(raised.value)
    assert "secret" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_server_that_is_not_there_is_named(clock: Clock) -> None:
    with faulty_server(ok({})) as server:
        url = server.url
    refused = pytest.raises(Unreachable, match=f"No connection to {url}")
    with SyncRunner(url, retries=Retries(tries=2), sleep=clock.sleep) as runner, refused:
        runner.send(READ)
    assert len(clock.pauses) == 1


def test_a_server_that_does_not_answer_is_given_up(clock: Clock) -> None:
    once = Retries(tries=1)
    with (
        faulty_server(silence) as server,
        SyncRunner(server.url, retries=once, timeout_seconds=0.1, sleep=clock.sleep) as runner,
        pytest.raises(Unreachable, match="did not answer in time"),
    ):
        runner.send(READ)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "gemweb", "http://[::1"])
def test_what_is_no_address_is_refused_in_a_sentence(url: str) -> None:
    with pytest.raises(Unreachable, match="begins with http"), SyncRunner(url, retries=Retries(tries=1)) as runner:
        runner.send(READ)


def test_any_text_can_be_sent_and_what_is_no_json_is_refused(clock: Clock) -> None:
    text: Request[Any] = Request("POST", "episodes", dict, content={"action": "\ud800 ä"})
    infinite: Request[Any] = Request("POST", "jobs", dict, content={"spec": float("nan")})
    with faulty_server(ok({})) as server, _runner(server, clock) as runner:
        runner.send(text)
        with pytest.raises(InvalidArgument, match="cannot be sent as JSON"):
            runner.send(infinite)
    assert [asked.json for asked in server.asked] == [{"action": "\ud800 ä"}]


def test_the_token_and_the_version_are_sent(clock: Clock) -> None:
    with faulty_server(ok({})) as server, _runner(server, clock) as runner:
        runner.send(READ)
    headers = server.asked[0].headers
    assert headers["authorization"] == "Bearer gw_secret"
    assert headers["user-agent"].startswith("gemweb/")
    assert server.asked[0].path == "/api/v1/account"


async def test_the_other_client_does_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = problem(429, "Too many requests.", Retry_After="0")
    account = {"name": "ann", "staff": False, "default_visibility": "public", "agent_visibility": "public"}
    with faulty_server(reset, busy, ok({**account, "token": None})) as server:
        async with AsyncClient(server.url, "t", retries=Retries(first_pause=0.001)) as client:
            assert (await client.account.get()).name == "ann"
    assert len(server.asked) == 3


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """No credentials of whoever runs the tests."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("GEMWEB_URL", "GEMWEB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
