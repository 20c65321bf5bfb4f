"""An endpoint agent in rollouts: what the server reads, and what the records keep."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict

import pytest

import gem
from gem.agents import Request, make_agent
from gem.agents.endpoint import EndpointAgent, EndpointSpec, chat
from gem.agents.endpoint.completion import FunctionCall
from gem.agents.endpoint.functions import action_of, calls_of
from gem.agents.endpoint.spec import SYSTEM
from gem.errors import InvalidArgument
from gem.records import episode_files
from gem.replay import verify, verify_stored
from gem.rollout import EpisodeRequest, rollout
from tests.model_server import ModelServer

HARD = "game:GuessTheNumber-v0-hard"
DUEL = "duel:KuhnPoker-v0"
MakeAgent = Callable[..., EndpointAgent]


@pytest.mark.parametrize("stream", [True, False])
def test_it_plays_episodes_to_their_end_and_they_can_be_verified(agent_of: MakeAgent, stream: bool) -> None:
    records = list(
        rollout(agent_of("bisect", stream=stream), [EpisodeRequest(i, HARD, i) for i in range(12)], num_envs=5)
    )
    assert sorted(record.index for record in records) == list(range(12))
    assert sum(bool(record.success) for record in records) >= 10
    for record in records:
        assert verify(record.identity, record.turns, terminated=record.terminated) is None
        assert all(turn.extra["note"].startswith("It is from") for turn in record.turns)
        assert all("note" not in turn.info for turn in record.turns)


@pytest.mark.parametrize("stream", [True, False])
def test_tokens_seconds_and_the_model_s_name_are_kept_for_every_turn(agent_of: MakeAgent, stream: bool) -> None:
    (record,) = rollout(agent_of("bisect", stream=stream), [EpisodeRequest(0, HARD, 3)])
    first = record.turns[0].extra
    assert first["model"] == "bisect-2026"
    assert first["tokens_in"] > 40
    assert first["tokens_out"] == 11
    assert first["tokens_reasoning"] == 10
    assert 0 < first["first_seconds"] <= first["seconds"] < 1
    assert record.tokens == tuple(
        sum(turn.extra[name] for turn in record.turns) for name in ("tokens_in", "tokens_out")
    )
    json.dumps(asdict(record))


def test_the_server_reads_the_rules_and_every_turn_so_far(server: ModelServer, agent_of: MakeAgent) -> None:
    (record,) = rollout(agent_of("bisect"), [EpisodeRequest(0, HARD, 3)])
    last = server.requests[-1]["messages"]
    assert last[0] == {"role": "system", "content": SYSTEM}
    assert [one["role"] for one in last[1:]] == ["user", "assistant"] * (record.turn_count - 1) + ["user"]
    assert record.first_observation in last[1]["content"]
    assert last[1]["content"].endswith("Enter your guess.")
    assert last[2]["content"] == record.turns[0].action
    assert record.turns[-2].observation in last[-1]["content"]


def test_a_short_history_keeps_the_rules(agent_of: MakeAgent) -> None:
    env = gem.make("game:GuessTheNumber-v0-hard")
    observation, info = env.reset(seed=3)
    spec = EndpointSpec(url="http://x/v1", model="m", history=1, system="")
    past = []
    for turn in range(1, 5):
        request = Request(env, observation, info, turn, past=past)
        said = chat.build_messages(spec, request)
        past.append(chat.Exchange(observation, info, f"\\boxed{{{turn}}}"))
        observation, *_, info = env.step(f"\\boxed{{{turn}}}")
    assert [one["role"] for one in said] == ["user", "assistant", "user"]
    assert said[0]["content"].startswith("I have a secret number from 1 to 50")
    assert "[2 turns are left out here.]" in said[0]["content"]
    assert said[1]["content"] == "\\boxed{3}"


def test_a_template_fills_in_its_names_once() -> None:
    env = gem.make(HARD)
    env.reset(seed=1)
    template = "Turn {turn} of {max_turns} in {env_id}: {observation} {other}"
    spec = EndpointSpec(url="http://x/v1", model="m", system="", template=template)
    (said,) = chat.build_messages(spec, Request(env, "odd {turn}", {}, 1))
    assert said["content"] == "Turn 1 of 7 in game:GuessTheNumber-v0-hard: odd {turn} {other}"


def test_sampling_and_further_fields_are_sent_and_nothing_else(server: ModelServer, agent_of: MakeAgent) -> None:
    more = {"top_k": 20, "chat_template_kwargs": {"enable_thinking": False}}
    agent = agent_of(
        "bisect", temperature=0.0, top_p=0.9, max_tokens=77, max_tokens_field="max_completion_tokens", seed=5,
        stop=("\n\n\n",), more=more, stream=False,
    )  # fmt: skip
    next(rollout(agent, [EpisodeRequest(0, HARD, 3)]))
    asked = server.requests[0]
    asked.pop("messages")
    assert asked == {
        "model": "bisect", "temperature": 0.0, "top_p": 0.9, "max_completion_tokens": 77, "seed": 5,
        "stop": ["\n\n\n"], **more,
    }  # fmt: skip


def test_the_key_is_sent_as_a_bearer_token_and_shown_nowhere(server: ModelServer, agent_of: MakeAgent) -> None:
    agent = agent_of("bisect", "sk-secret")
    next(rollout(agent, [EpisodeRequest(0, HARD, 3)]))
    assert server.headers_seen[0]["authorization"] == "Bearer sk-secret"
    assert "sk-secret" not in repr(vars(agent))


def test_pictures_are_sent_where_the_observation_offers_them_and_the_agent_wants_them() -> None:
    picture = "data:image/png;base64,iVBORw0KGgo="
    request = Request(gem.make(HARD), "Look.", {"images": [picture]}, 1)
    spec = EndpointSpec(url="http://x/v1", model="m", system="")
    assert chat.build_messages(spec, request) == [{"role": "user", "content": "Look."}]
    (said,) = chat.build_messages(spec.model_copy(update={"images": True}), request)
    assert said["content"][1] == {"type": "image_url", "image_url": {"url": picture}}


@pytest.mark.parametrize("stream", [True, False])
def test_native_calls_take_the_turn(server: ModelServer, agent_of: MakeAgent, stream: bool) -> None:
    (record,) = rollout(agent_of("calls", style="tools", stream=stream), [EpisodeRequest(0, HARD, 3)])
    assert record.turns[0].action == "\\boxed{25}"
    assert record.turns[0].extra["calls"] == [{"name": "act", "arguments": '{"action": "\\\\boxed{25}"}'}]
    assert record.turns[0].extra["said"] == "Calling."
    assert [tool["function"]["name"] for tool in server.requests[0]["tools"]] == ["act"]
    assert record.success
    *_, called, result = server.requests[-1]["messages"]
    assert (called["role"], result["role"]) == ("assistant", "tool")
    assert called["tool_calls"][0]["function"]["name"] == "act"
    assert record.turns[-2].observation in result["content"]


def test_calls_of_tools_become_the_text_that_environments_read() -> None:
    calls = [FunctionCall("python", '{"code": "print(1)"}'), FunctionCall("search", '{"query": "x"}')]
    action = action_of(calls)
    assert action.splitlines()[0] == '<tool_call>{"name": "python", "arguments": {"code": "print(1)"}}</tool_call>'
    assert [one["name"] for one in calls_of(action)] == ["python", "search"]
    assert action_of([*calls, FunctionCall("act", '{"action": "\\\\boxed{1}"}')]) == "\\boxed{1}"
    assert action_of([FunctionCall("act", "not JSON")]) == "not JSON"
    assert action_of([FunctionCall("act", '{"action": {"row": 1, "mark": "é"}}')]) == '{"row": 1, "mark": "é"}'
    assert action_of([FunctionCall("act", '{"action": 7}')]) == "7"


def test_it_sits_in_one_seat_and_reads_only_what_that_seat_may(server: ModelServer, agent_of: MakeAgent) -> None:
    slots = [EpisodeRequest(seat, DUEL, 7, seat=seat) for seat in (0, 1)]
    records = list(rollout(agent_of("lost"), slots, opponent=make_agent("random")))
    assert {record.seat for record in records} == {0, 1}
    for record in records:
        own = [turn for turn in record.turns if turn.seat == record.seat]
        assert all("tokens_in" in turn.extra for turn in own)
        assert all(not turn.extra for turn in record.turns if turn.seat != record.seat)
    assert len(server.requests) == sum(turn.seat == r.seat for r in records for turn in r.turns)


def test_slow_answers_of_many_episodes_are_awaited_together(server: ModelServer, agent_of: MakeAgent) -> None:
    server.delay = 0.1
    records = list(
        rollout(agent_of("bisect", concurrency=6), [EpisodeRequest(i, HARD, i) for i in range(24)], num_envs=24)
    )
    assert len(records) == 24
    assert server.busiest == 6


def test_one_slow_episode_holds_up_no_other(server: ModelServer, agent_of: MakeAgent) -> None:
    class Mixed:
        """Asks a server that never answers in episodes of odd seeds."""

        name = "mixed"

        def __init__(self) -> None:
            self.quick, self.slow = agent_of("bisect"), agent_of("hang", timeout=30, patience=30)

        async def decide(self, request: Request) -> object:
            return await (self.slow if request.env.seed == 1 else self.quick).decide(request)

        async def close(self) -> None:
            await self.quick.close()
            await self.slow.close()

    records = rollout(Mixed(), [EpisodeRequest(i, HARD, i) for i in range(8)], num_envs=2)  # type: ignore[arg-type]
    assert sorted(next(records).index for _ in range(7)) == [0, 2, 3, 4, 5, 6, 7]
    records.close()


def test_it_can_be_asked_as_any_other_agent(agent_of: MakeAgent) -> None:
    env = gem.make(HARD)
    observation, info = env.reset(seed=3)
    agent = agent_of("bisect")
    for _ in range(2):
        decisions = agent.act([Request(env, observation, info, 1)] * 2)
        assert [decision.action for decision in decisions] == ["\\boxed{25}"] * 2


def test_it_is_made_by_its_kind(server: ModelServer) -> None:
    agent = make_agent("endpoint", url=f"{server.url}/chat/completions", model="bisect", key="k")
    assert isinstance(agent, EndpointAgent)
    assert agent.spec.url == server.url
    with pytest.raises(InvalidArgument, match="temperature"):
        make_agent("endpoint", url=server.url, model="m", temperature=7)
    with pytest.raises(InvalidArgument, match="An address begins with http"):
        make_agent("endpoint", url="file:///etc/passwd", model="m")


def test_its_records_survive_a_file(agent_of: MakeAgent, tmp_path: pytest.TempPathFactory) -> None:
    (record,) = rollout(agent_of("nul"), [EpisodeRequest(0, HARD, 3)])
    path = tmp_path / "one.jsonl"  # type: ignore[operator]
    path.write_text(episode_files.episode_line(record, "nul"), encoding="utf-8")
    (stored,) = episode_files.read(path)
    assert stored.record.turns == record.turns
    assert verify_stored(stored) is None


def test_the_digest_changes_with_what_is_asked_and_not_with_where() -> None:
    spec = EndpointSpec(url="http://x/v1", model="m")
    assert spec.digest == EndpointSpec(url="http://y/v1", model="m", timeout=5, concurrency=3).digest
    assert spec.digest != EndpointSpec(url="http://x/v1", model="m", temperature=0.1).digest
