"""`gemweb check http://…`: a server of OpenEnv that keeps its promises, and others that break one each."""

from __future__ import annotations

import json
import socket

import pytest

import gem
from gem.check.elsewhere.servers import PROMISES, ServerExamination
from gem.errors import EnvironmentFailure
from tests.engine.cli.conftest import Run
from tests.engine.elsewhere.guessing_server import serving


@pytest.fixture(autouse=True)
def on_a_machine_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """No site in this process says which servers may be connected to."""
    monkeypatch.delenv("GEM_OPENENV_ADDRESSES", raising=False)


def statuses(fault: str) -> dict[str, tuple[str, str]]:
    """What is not `ok`, with the sentence."""
    with serving(fault) as url:
        findings = list(ServerExamination(url).findings())
    return {finding.key: (finding.status, finding.detail) for finding in findings if finding.status != "ok"}


@pytest.mark.parametrize(
    ("fault", "key", "said"),
    [
        ("fails", "a_session_begins_with_a_reset", "FACTORY_ERROR: no environment"),
        ("undescribed", "it_describes_its_actions", "GET /schema is answered with status 404"),
        ("ill", "it_says_that_it_is_healthy", "'status': 'ill'"),
        ("pays words", "steps_are_answered", "no observation with a reward and an end"),
        ("seedless", "it_obeys_a_seed", "Played twice, seed 7 differs: turn 0 is "),
        ("shared", "sessions_do_not_disturb_each_other", "Seed 7 beside another session differs: turn 1"),
        ("counts nothing", "its_state_counts_the_steps", "After 1 steps its state has step_count=0."),
        ("shrugs", "what_it_does_not_understand_is_answered_with_an_error", "The reply to a text that is no JSON is"),
        ("closes", "what_it_does_not_understand_is_answered_with_an_error", "After a text that is no JSON there is no"),
    ],
)
def test_a_broken_promise_of_a_server_is_named(fault: str, key: str, said: str) -> None:
    found = statuses(fault)
    wrong = {name: detail for name, (status, detail) in found.items() if status == "wrong"}
    assert said in wrong.pop(key)
    if fault != "undescribed":  # nothing is known of its actions then
        assert wrong == {}


def test_a_server_that_keeps_its_promises_is_told_so(run: Run) -> None:
    with serving() as url:
        code, out, err = run("check", url)
        assert (code, err) == (0, "")
        assert out.startswith(f"The OpenEnv server at {url}\n\nok ")
        assert out.count("\nok ") == len(PROMISES)
        code, out, _ = run("check", f"openenv:{url}", "--json")
    assert (code, json.loads(out)["kept"]) == (0, len(PROMISES))


def test_a_server_with_one_session_is_not_blamed_for_it() -> None:
    assert statuses("full") == {"sessions_do_not_disturb_each_other": ("left out", "It has one session at a time.")}


def test_episodes_are_played_one_after_the_other_on_a_server_with_one_session() -> None:
    with serving("full") as url:
        env = gem.make(f"openenv:{url}")
        for seed in range(3):  # each begins a moment before the session of the one before it is free
            env.reset(seed=seed)
            done = False
            while not done:
                *_, done, _, _ = env.step('{"number": 0}')
        env.reset(seed=3)
        with pytest.raises(EnvironmentFailure, match="no place"):
            gem.make(f"openenv:{url}").reset(seed=4)
        env.close()


def test_a_server_that_is_not_there_has_an_exit_code_of_its_own(run: Run) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        code, out, err = run("check", f"http://127.0.0.1:{free.getsockname()[1]}")
    assert (code, out) == (3, "")
    assert "it is not there, or refuses connections" in err


def test_what_is_there_and_no_server_of_openenv_is_told(run: Run) -> None:
    with serving() as url:
        code, out, _ = run("check", f"{url}/elsewhere")
    assert code == 1
    assert "The server refused the WebSocket with status 404. On a site of gemweb, the address ends with" in out


def test_every_promise_of_a_server_says_what_helps() -> None:
    assert len({promise.title for promise in PROMISES}) == len(PROMISES)
    assert all(promise.advice.endswith(".") and promise.title.endswith(".") for promise in PROMISES)


def test_a_server_is_probed_for_what_a_training_would_learn(run: Run) -> None:
    with serving() as url:
        code, out, err = run("learnable", url, "--seeds", "10", "--tries", "3")
        assert (code, err) == (0, "")
        assert "Has a signal." in out
        assert "It is on a server." in out


def test_a_server_that_is_not_there_or_none_of_openenv_is_not_probed(run: Run) -> None:
    code, out, err = run("learnable", "http://127.0.0.1:9")
    assert (code, out) == (3, "")
    assert "it is not there, or refuses connections" in err
    with serving() as url:
        code, out, err = run("learnable", f"{url}/elsewhere")
    assert (code, out, err.count("\n")) == (2, "", 1)
