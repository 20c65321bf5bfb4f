"""Every fault a server can have ends in a sentence, and in what the specification wants then."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from gem.agents.endpoint import EndpointAgent, EndpointSpec, try_out
from gem.errors import AgentStopped
from gem.rollout import EpisodeRequest, rollout
from tests.model_server import KEY, ModelServer

HARD = "game:GuessTheNumber-v0-hard"
ONE = [EpisodeRequest(0, HARD, 3)]
MakeAgent = Callable[..., EndpointAgent]

SENTENCES = {
    "400": "It does not understand the request: fault 400.",
    "429": "answered 429. It gets too many requests: fault 429.",
    "429-date": "answered 429",
    "500": "answered 500. It failed: fault 500.",
    "503": "answered 503",
    "redirect": "answered 302. It sends elsewhere, and redirects are not followed",
    "hang": "did not answer within 1 s",
    "drip": "did not answer within 1 s",
    "reset": "connection",
    "huge": "more than 16,777,216 bytes",
    "broken-off": "broke off in the middle",
    "fails-midway": "gave up: out of memory.",
    "garbage": "not a chat completion",
    "bad-utf8": "not UTF-8",
    "deep": "not a chat completion",
    "empty": "not a chat completion",
    "no-choices": "without a message",
    "not-a-list": "not a chat completion",
    "number": "not a chat completion",
    "endless-line": "not a chat completion",
    "zip": "compressed answer",
    "says-secret": "answered 500. It failed.",
    "unheard-of": "There is no such model or address: The model `unheard-of` does not exist.",
}


@pytest.mark.parametrize("model", SENTENCES)
def test_a_fault_sets_the_episode_aside_with_a_sentence_and_the_others_go_on(agent_of: MakeAgent, model: str) -> None:
    agent = agent_of(model, on_failure="retry", patience=1.0, timeout=20.0 if model == "huge" else 1.0)
    (record,) = rollout(agent, ONE)
    assert SENTENCES[model] in record.failure
    assert record.failure.startswith(f"{model} gave no answer at turn 1.")
    assert (record.failed_by, record.success, record.turns) == ("agent", None, [])
    assert "internal page" not in record.failure


@pytest.mark.parametrize("model", ["500", "garbage", "broken-off", "reset"])
def test_forfeiting_takes_the_turn_with_an_empty_action(agent_of: MakeAgent, model: str) -> None:
    (record,) = rollout(agent_of(model, on_failure="forfeit"), ONE)
    assert (record.failure, record.success) == ("", False)
    assert record.turns[0].action == ""
    assert record.turns[0].info["error"] == "format"
    assert "There were 2 requests" in record.turns[0].extra["error"]
    assert record.turns[0].extra["requests"] == 2


def test_stopping_ends_everything(server: ModelServer, agent_of: MakeAgent) -> None:
    with pytest.raises(AgentStopped, match="answered 500"):
        list(rollout(agent_of("500", on_failure="stop"), [EpisodeRequest(i, HARD, i) for i in range(50)], num_envs=1))
    assert len(server.requests) == 2


def test_a_server_that_is_not_there_is_not_asked_for_ever(agent_of: MakeAgent) -> None:
    slots = (EpisodeRequest(i, HARD, i) for i in range(10_000))
    found = []
    with pytest.raises(AgentStopped, match="10 turns in a row without an answer"):
        found.extend(rollout(agent_of("400"), slots, num_envs=2))


@pytest.mark.parametrize("fault", ["500", "429", "reset", "garbage", "broken-off", "bad-utf8"])
def test_it_asks_again_and_plays_on(server: ModelServer, agent_of: MakeAgent, fault: str) -> None:
    (record,) = rollout(agent_of(f"flaky-1-{fault}", patience=20.0), ONE)
    assert record.success
    assert all(turn.extra["requests"] == 2 for turn in record.turns)
    assert len(server.requests) == 2 * record.turn_count


def test_it_waits_as_long_as_the_server_asks(agent_of: MakeAgent) -> None:
    (record,) = rollout(agent_of("flaky-1-429", patience=20.0), ONE)
    assert all(turn.extra["seconds"] >= 0.3 for turn in record.turns)


def test_it_does_not_wait_longer_than_its_patience(agent_of: MakeAgent) -> None:
    started = time.monotonic()
    (record,) = rollout(agent_of("429-long", patience=60.0), ONE)
    assert "answered 429" in record.failure
    assert time.monotonic() - started < 60  # the server asked for an hour


def test_a_request_that_cannot_succeed_is_sent_once(server: ModelServer, agent_of: MakeAgent) -> None:
    (record,) = rollout(agent_of("locked", "sk-wrong", patience=30.0), ONE)
    assert len(server.requests) == 1
    assert "It does not accept the key: Incorrect key: Bearer [key]." in record.failure
    assert "sk-wrong" not in record.failure


def test_no_server_at_all_is_said_in_words(agent_of: MakeAgent) -> None:
    agent = EndpointAgent(EndpointSpec(url="http://127.0.0.1:1/v1", model="m", patience=1.0))
    (record,) = rollout(agent, ONE)
    assert "No connection to the server: it is not there, or refuses connections." in record.failure
    assert "127.0.0.1" not in record.failure


def test_leaving_a_rollout_leaves_no_request_behind(server: ModelServer, agent_of: MakeAgent) -> None:
    server.delay = 0.05
    records = rollout(agent_of("bisect"), [EpisodeRequest(i, HARD, i) for i in range(100)], num_envs=20)
    next(records)
    records.close()
    time.sleep(0.3)
    before = len(server.requests)
    time.sleep(0.3)
    assert len(server.requests) == before


async def test_trying_says_status_model_tokens_and_time(server: ModelServer) -> None:
    spec = EndpointSpec(url=server.url, model="lost")
    trial = await try_out(spec)
    assert (trial.works, trial.status, trial.text, trial.model) == (True, 200, "I do not know.", "lost-2026")
    assert trial.tokens_out == 4
    assert server.requests[0]["messages"][0]["content"] == spec.system


@pytest.mark.parametrize(("model", "status", "words"), [
    ("500", 500, "answered 500"), ("hang", 0, "did not answer"), ("garbage", 200, "not a chat completion"),
    ("nothing", 200, "the token limit was reached first"), ("locked", 401, "It does not accept the key"),
])  # fmt: skip
async def test_trying_says_what_is_wrong(server: ModelServer, model: str, status: int, words: str) -> None:
    trial = await try_out(EndpointSpec(url=server.url, model=model, timeout=1))
    assert not trial.works
    assert trial.status == status
    assert words in trial.sentence
    assert KEY not in trial.sentence
