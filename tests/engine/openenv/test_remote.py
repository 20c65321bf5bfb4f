"""Environments on servers of OpenEnv: played, restored and replayed, and what becomes of servers that misbehave."""

from __future__ import annotations

import contextlib
import gc
import json
import threading
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

import gem
from gem import replay
from gem.agents import make_agent
from gem.cli import main
from gem.errors import EnvironmentFailure, InvalidArgument, UnknownEnvironment
from gem.net import credentials
from gem.net.credentials import Login
from gem.rollout import EpisodeRequest, rollout

COUNTER = {"properties": {"message": {"type": "string"}}, "required": ["message"]}
FORM = {"properties": {"x": {"type": "integer"}, "y": {"type": "integer"}}, "required": ["x", "y"]}


class Counting:
    """A server on which an episode is a sum that has to reach its seed."""

    def __init__(self, action: dict[str, Any], path: str = "/count") -> None:
        self.action, self.sessions, self.sessions_ended, self.answer_with, self._path = action, 0, 0, "", path
        self.tokens: list[str | None] = []
        self.resets: list[dict[str, Any]] = []
        self.server: Server = serve(self._talk, "127.0.0.1", 0, process_request=self._read)
        self.url = f"http://127.0.0.1:{self.server.socket.getsockname()[1]}{path}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def _read(self, _: ServerConnection, request: Request) -> Response | None:
        self.tokens.append(request.headers.get("Authorization"))
        if request.path != f"{self._path}/schema":
            return None
        body = json.dumps({"action": self.action}).encode()
        return Response(200, "OK", Headers({"Content-Length": str(len(body))}), body)

    def _talk(self, connection: ServerConnection) -> None:
        self.sessions += 1
        with contextlib.suppress(ConnectionClosed):
            self._play(connection)
        self.sessions_ended += 1

    def _play(self, connection: ServerConnection) -> None:
        goal = total = 0
        for text in connection:
            message = json.loads(text)
            if self.answer_with:
                connection.send(self.answer_with)
                continue
            if message["type"] == "reset":
                self.resets.append(message["data"])
                goal, total = message["data"].get("seed", 3), 0
            else:
                total += sum(map(int, message["data"].values()))
            done = total >= goal
            data = {"observation": {"text": f"{total} of {goal}"}, "reward": float(done), "done": done}
            connection.send(json.dumps({"type": "observation", "data": data}))


@pytest.fixture(autouse=True)
def on_a_machine_of_ones_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No site says which servers may be connected to, and there is no token of whoever runs the tests."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("GEM_OPENENV_ADDRESSES", "GEMWEB_URL", "GEMWEB_TOKEN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def site() -> Iterator[Counting]:
    """A server whose address is that of an environment of a gemweb site."""
    server = Counting(COUNTER, "/openenv/count")
    yield server
    server.server.shutdown()


@pytest.fixture
def counting() -> Iterator[Counting]:
    """A server whose actions are texts."""
    server = Counting(COUNTER)
    yield server
    server.server.shutdown()


def test_an_address_is_an_environment(counting: Counting) -> None:
    env = gem.make(f"openenv:{counting.url}")
    assert env.spec is not None
    assert env.spec.id == f"openenv:{counting.url.replace('/', '+')}"
    assert env.reset(seed=3)[0] == "0 of 3"
    assert env.step("2")[:4] == ("2 of 3", 0.0, False, False)
    observation, reward, terminated, truncated, info = env.step("1")
    assert (observation, reward, terminated, truncated, info["success"]) == ("3 of 3", 1.0, True, False, True)
    assert gem.make(env.spec.id).reset(seed=4)[0] == "0 of 4"
    env.close()


def test_a_reset_sends_what_the_server_takes_besides_a_seed(counting: Counting) -> None:
    env = gem.make(f"openenv:{counting.url}", reset_options={"record": False})
    env.reset(seed=3)
    assert counting.resets == [{"record": False, "seed": 3}]
    env.close()


def test_an_episode_that_nobody_ends_keeps_no_session(counting: Counting, caplog: pytest.LogCaptureFixture) -> None:
    env = gem.make(f"openenv:{counting.url}")
    env.reset(seed=3)
    assert (counting.sessions, counting.sessions_ended) == (1, 0)
    del env
    gc.collect()
    deadline = time.monotonic() + 60
    while not counting.sessions_ended and time.monotonic() < deadline:
        time.sleep(0.01)
    assert counting.sessions_ended == 1
    assert "Unclosed" not in caplog.text


def test_the_turn_limit_is_ours(counting: Counting) -> None:
    env = gem.make(f"openenv:{counting.url}", max_turns=2)
    env.reset(seed=9)
    assert env.step("1")[2:4] == (False, False)
    *_, terminated, truncated, info = env.step("1")
    assert (terminated, truncated, info["success"]) == (False, True, False)


def test_a_state_goes_on_in_a_session_of_its_own(counting: Counting) -> None:
    env = gem.make(f"openenv:{counting.url}")
    env.reset(seed=5)
    env.step("2")
    copy = env.spawn(same_state=True)
    assert env.step("1")[0] == "3 of 5"
    assert copy.step("3")[:3] == ("5 of 5", 1.0, True)
    assert counting.sessions == 2
    state = json.loads(json.dumps(env.get_state()))
    state["answers"][1]["observation"]["text"] = "another"
    copy.set_state(state)
    with pytest.raises(EnvironmentFailure, match="same episode"):
        copy.step("1")


def test_an_episode_is_replayed_without_the_server(counting: Counting) -> None:
    spec = gem.spec(f"openenv:{counting.url}")
    (record,) = rollout(make_agent("random"), [EpisodeRequest(0, spec.id, 4, {"max_turns": 1})])
    counting.server.shutdown()
    assert (record.failure, record.turn_count) == ("", 1)
    read = {"first_observation": record.first_observation, "first_info": record.first_info}
    assert replay.verify(record.identity, record.turns, **read, strict=True) is None


def test_actions_with_several_fields_are_json(counting: Counting) -> None:
    counting.action = FORM
    env = gem.make(f"openenv:{counting.url}")
    env.reset(seed=5)
    *_, info = env.step("2 and 3")
    assert info["error"] == "format"
    assert env.step('{"x": 2, "y": 3}')[:3] == ("5 of 5", 1.0, True)


@pytest.mark.parametrize(
    "answer",
    [
        "no JSON",
        "[]",
        '{"type": "error", "data": {"message": "out of order", "code": "EXECUTION_ERROR"}}',
        '{"type": "error", "data": []}',
        '{"type": "observation"}',
        '{"type": "observation", "data": {"observation": "text", "reward": 1, "done": false}}',
        '{"type": "observation", "data": {"observation": {}, "reward": "much", "done": false}}',
        '{"type": "observation", "data": {"observation": {}, "reward": 1, "done": 1}}',
        "x" * (5 * 1024 * 1024),
    ],
)
def test_a_server_that_answers_nonsense_fails_the_episode(counting: Counting, answer: str) -> None:
    env = gem.make(f"openenv:{counting.url}", timeout=5)
    env.reset(seed=5)
    counting.answer_with = answer
    with pytest.raises(EnvironmentFailure):
        env.step("1")
    env.close()


def test_a_server_that_is_not_there_is_named() -> None:
    gc.collect()  # what earlier tests left is not what this environment leaves
    env = gem.make("openenv:http://127.0.0.1:9", timeout=2)
    with pytest.raises(EnvironmentFailure, match=r"127\.0\.0\.1:9"):
        env.reset()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        del env
        gc.collect()
    assert [str(warning.message) for warning in warned if warning.category is ResourceWarning] == []


def test_what_a_server_does_wrong_is_logged_without_our_code(
    counting: Counting, caplog: pytest.LogCaptureFixture
) -> None:
    counting.answer_with = "no JSON"
    (record,) = rollout(make_agent("random"), [EpisodeRequest(0, f"openenv:{counting.url}", 1)])
    assert "not JSON" in record.failure
    assert "not JSON" in caplog.text
    assert "Traceback" not in caplog.text


def test_an_episode_that_is_over_when_it_begins_fails(counting: Counting) -> None:
    spec = gem.spec(f"openenv:{counting.url}")
    over, played = rollout(make_agent("random"), [EpisodeRequest(0, spec.id, 0), EpisodeRequest(1, spec.id, 4)])
    assert "over when it began" in over.failure
    assert (over.failed_by, over.turn_count, played.failure) == ("environment", 0, "")


def test_a_token_is_sent_to_its_own_site_and_written_nowhere(
    site: Counting, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GEMWEB_TOKEN", "gw_secret")
    env_id, out = f"openenv:{site.url}", tmp_path / "episodes.jsonl"
    command = ["eval", "--env", env_id, "--agent", "random", "--episodes", "2", "--seed", "3", "--out", str(out)]
    main(command)
    assert set(site.tokens) == {None}, "a token for no server in particular"
    monkeypatch.setenv("GEMWEB_URL", "http://127.0.0.1:9")
    gem.make(env_id).reset(seed=1)
    assert set(site.tokens) == {None}, "the token of another server"
    site.tokens.clear()
    monkeypatch.setenv("GEMWEB_URL", site.url.partition("/openenv/")[0])
    out.unlink()
    main(command)
    assert set(site.tokens) == {"Bearer gw_secret"}
    assert env_id in out.read_text()
    assert "gw_secret" not in out.read_text() + "".join(capsys.readouterr())


def test_a_token_that_was_stored_by_a_login_is_sent(site: Counting) -> None:
    credentials.store(Login(site.url.partition("/openenv/")[0], "gw_stored"))
    gem.make(f"openenv:{site.url}").reset(seed=1)
    assert set(site.tokens) == {"Bearer gw_stored"}


@pytest.mark.parametrize("address", ["http://host/openenv/gw_secret/game", "http:++host+openenv+gw_secret+game"])
def test_an_address_with_a_token_is_refused_by_a_sentence_without_it(
    address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidArgument, match="Leave the token out") as refused:
        gem.make(f"openenv:{address}")
    assert "gw_secret" not in str(refused.value)
    with pytest.raises(InvalidArgument, match="Leave the token out"):
        gem.make("openenv:http://host", url=address.replace("+", "/"))
    for command in ("check", "learnable"):
        assert main([command, f"openenv:{address}"]) == 2
    assert main(["eval", "--env", f"openenv:{address}", "--agent", "random"]) == 2
    assert "gw_secret" not in "".join(capsys.readouterr())


def test_what_is_no_address_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for address in ("", "ftp://host", "http://user:word@host", "http://host?x=1", "http://host/a b"):
        with pytest.raises(InvalidArgument):
            gem.make(f"openenv:{address}")
    with pytest.raises(UnknownEnvironment):
        gem.make("openenvs:http://host")
    monkeypatch.setenv("GEM_OPENENV_ADDRESSES", "none")
    with pytest.raises(UnknownEnvironment, match="not played here"):
        gem.make("openenv:http://127.0.0.1:9")
    monkeypatch.setenv("GEM_OPENENV_ADDRESSES", "")
    with pytest.raises(EnvironmentFailure, match="public address"):
        gem.make("openenv:http://127.0.0.1:9").reset()
