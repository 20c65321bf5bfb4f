"""`gemweb eval --agent endpoint`: a model behind a real server, tries at each seed, tokens, and going on."""

import contextlib
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from gem.evaluation.scores import Outcome, pass_at, passes, summarize
from tests.engine.cli.conftest import Run
from tests.model_server import KEY, ModelServer, model_server

HARD = "game:GuessTheNumber-v0-hard"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as running:
        yield running


def asked(server: ModelServer, model: str, *more: object) -> list[object]:
    return ["eval", "--agent", "endpoint", "--url", server.url, "--model", model, "--env", HARD, *more]


def test_it_prints_scores_tokens_and_pass_at_k(run: Run, server: ModelServer, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl"
    ran = run(*asked(server, "bisect", "--episodes", 5, "--repeats", 3, "--temperature", 0.5, "--out", out))
    assert ran.code == 0, ran.err
    first, headings, row, *_ = ran.out.splitlines()
    assert first.startswith("bisect@")
    assert first.endswith(", 15 episodes")
    assert headings.split()[-9:] == [
        "mean", "turns", "unreadable", "forbidden", "pass@2", "pass@3", "tokens", "in", "out"
    ]  # fmt: skip
    assert row.split()[:2] == [HARD, "15"]
    lines = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    assert sorted(line["seed"] for line in lines) == sorted([*range(5)] * 3)
    tokens = sum(turn["extra"]["tokens_out"] for line in lines for turn in line["turns"])
    assert row.split()[-1] == f"{tokens:,}"
    assert lines[0]["agent_set_up"]["temperature"] == 0.5
    assert server.url not in out.read_text("utf-8")


def test_episodes_without_an_answer_do_not_count_and_are_played_again(
    run: Run, server: ModelServer, tmp_path: Path
) -> None:
    out = tmp_path / "log.jsonl"
    same = ["--episodes", 4, "--patience", 1, "--num-envs", 4, "--out", out]
    ran = run(*asked(server, "flaky-1-400", "--history", 0, *same))
    assert "In 4 episodes the agent gave no answer; they do not count." in ran.out
    assert "The first: flaky-1-400 gave no answer at turn 1. The server answered 400." in ran.out
    assert out.read_text("utf-8").count('"failed_by": "agent"') == 4
    server.well = True
    ran = run(*asked(server, "flaky-1-400", "--history", 0, *same))
    assert "gave no answer" not in ran.out
    assert "episodes are in" not in ran.err
    before = len(server.requests)
    assert run(*asked(server, "flaky-1-400", "--history", 0, *same)).out == ran.out
    assert len(server.requests) == before
    assert run("replay", out).code == 0


def test_another_prompt_or_sampling_is_another_agent(run: Run, server: ModelServer, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl"
    run(*asked(server, "lost", "--episodes", 2, "--out", out))
    assert "episodes are in" not in run(*asked(server, "lost", "--episodes", 2, "--top-p", 0.5, "--out", out)).err
    assert "2 of 2 episodes are in" in run(*asked(server, "lost", "--episodes", 2, "--timeout", 9, "--out", out)).err


def test_the_key_comes_from_the_environment_and_appears_nowhere(
    run: Run, server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", KEY)
    out = tmp_path / "log.jsonl"
    ran = run(*asked(server, "locked", "--key-env", "MY_KEY", "--episodes", 2, "--out", out))
    assert ran.code == 0
    assert "gave no answer" not in ran.out
    assert server.headers_seen[0]["authorization"] == f"Bearer {KEY}"
    assert KEY not in ran.out + ran.err + out.read_text("utf-8")
    ran = run(*asked(server, "locked", "--key-env", "NO_KEY", "--episodes", 2))
    assert (ran.code, ran.out) == (2, "")
    assert "The environment variable NO_KEY is not set" in ran.err


def test_a_specification_comes_from_a_file_and_options_change_it(run: Run, server: ModelServer, tmp_path: Path) -> None:
    spec, system = tmp_path / "agent.json", tmp_path / "system.txt"
    spec.write_text(json.dumps({"url": server.url, "model": "lost", "temperature": 1.5, "max_tokens": 9}))
    system.write_text("You are terse.\n")
    ran = run("eval", "--agent", "endpoint", "--agent-spec", spec, "--system", system, "--temperature", 0.25,
              "--env", HARD, "--episodes", 1)  # fmt: skip
    assert ran.code == 0, ran.err
    sent = server.requests[0]
    assert (sent["temperature"], sent["max_tokens"]) == (0.25, 9)
    assert sent["messages"][0]["content"] == "You are terse."


def test_stopping_at_the_first_failure_keeps_what_there_is(run: Run, server: ModelServer, tmp_path: Path) -> None:
    ran = run(*asked(server, "500", "--episodes", 50, "--on-failure", "stop", "--tries", 1, "--num-envs", 1))
    assert ran.code == 2
    assert "answered 500" in ran.err
    assert len(server.requests) == 1


@pytest.mark.parametrize(("more", "words"), [
    (["--agent", "endpoint"], "needs --url"),
    (["--agent", "endpoint", "--url", "http://x/v1"], "needs --model"),
    (["--agent", "endpoint", "--url", "x", "--model", "m"], "An address begins with http"),
    (["--agent", "endpoint", "--url", "http://x/v1", "--model", "m", "--temperature", 9], "temperature"),
    (["--agent", "random", "--model", "m"], "--model belongs to --agent endpoint"),
    (["--agent", "endpoint", "--agent-spec", "nowhere.json"], "nowhere.json cannot be read"),
    (["--agent", "random", "--repeats", 0], "must be from 1 to 64"),
])  # fmt: skip
def test_what_is_wrong_is_said_in_a_sentence(run: Run, more: list[object], words: str) -> None:
    ran = run("eval", "--env", HARD, *more)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert len(ran.err.splitlines()) == 1


def test_pass_at_k_is_unbiased() -> None:
    """By hand: 10 tries, 3 of them good; and by enumeration of all draws."""
    from itertools import combinations

    assert pass_at(1, 10, 3) == pytest.approx(0.3)
    assert pass_at(8, 10, 3) == 1.0
    assert pass_at(5, 10, 0) == 0.0
    draws = list(combinations([True] * 2 + [False] * 5, 3))
    assert pass_at(3, 7, 2) == pytest.approx(sum(map(any, draws)) / len(draws))


def test_problems_that_were_tried_several_times_are_summed_up_by_problem() -> None:
    rows = [Outcome(i, 0.0, i % 4 == 0, 1, False, problem=(i // 4, 0)) for i in range(20)]
    found = passes(rows)
    assert list(found) == [1, 2, 4]
    assert found[1].mean == pytest.approx(0.25)
    assert found[4].mean == 1.0
    assert passes([Outcome(0, 0.0, True, 1, False)]) == {}


def test_what_the_agent_did_not_answer_is_counted_apart() -> None:
    rows = [
        Outcome(0, 1.0, True, 3, False, tokens_in=10, tokens_out=5),
        Outcome(1, 0.0, False, 0, True),
        Outcome(2, 0.0, False, 1, False, unanswered=True, tokens_in=7, tokens_out=1),
    ]
    summary = summarize(rows)
    assert (summary.n, summary.failed, summary.unanswered) == (1, 1, 1)
    assert (summary.tokens_in, summary.tokens_out) == (17, 6)
    assert summary.success is not None
    assert summary.success.mean == 1.0


def test_a_budget_stops_cleanly_and_keeps_what_is_finished(run: Run, server: ModelServer, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl"
    same = asked(server, "bisect", "--episodes", 30, "--num-envs", 2, "--max-tokens", 100, "--out", out)
    ran = run(*same, "--token-budget", 9000)
    assert ran.code == 0
    assert "The budget of 9,000 tokens is used up." in ran.err
    assert f"Booked: {server.tokens_in:,} tokens in, {server.tokens_out:,} out." in ran.out
    assert server.tokens_in + server.tokens_out <= 9000
    kept = len(out.read_text("utf-8").splitlines())
    assert 0 < kept < 20
    assert "budget" not in out.read_text("utf-8")
    assert f"{kept} of 30 episodes are in" in run(*same).err


def test_an_episode_ends_at_its_own_limit_and_is_not_solved(run: Run, server: ModelServer, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl"
    limits = ["--max-tokens", 100, "--max-episode-tokens", 1200]
    assert run(*asked(server, "bisect", "--episodes", 2, "--out", out, *limits)).code == 0
    for line in map(json.loads, out.read_text("utf-8").splitlines()):
        assert (line["cut"], line["truncated"], line["success"], line["failure"]) == ("tokens", True, False, "")
        spent = sum(turn["extra"]["tokens_in"] + turn["extra"]["tokens_out"] for turn in line["turns"])
        assert 0 < spent <= 1200
    assert run("replay", out).code == 0


@pytest.mark.parametrize(("more", "words"), [
    (["--token-budget", 900], "sets no limit for the tokens of an answer"),
    (["--max-tokens", 9, "--money-budget", 1], "has no prices"),
    (["--max-tokens", 9, "--money-budget", "nan"], "must be more than 0"),
    (["--max-tokens", 9, "--max-episode-tokens", 0], "The token limit of an episode must be from 1"),
])  # fmt: skip
def test_a_limit_that_cannot_be_kept_is_refused(run: Run, server: ModelServer, more: list[object], words: str) -> None:
    ran = run(*asked(server, "bisect", *more))
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert not server.requests


def test_a_server_that_is_not_there_is_said_at_once(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl"
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    asked = ["eval", "--agent", "endpoint", "--url", url, "--model", "m", "--env", HARD, "--out", out, "--patience", 1]
    ran = run(*asked)
    assert ran.code == 3
    assert f"Nothing answers at {url} (Connection refused). Trying again for 1 s" in ran.err
    assert ran.err.endswith("Start the server, or check --url. No episode was played.\n")
    assert ran.out == ""
    assert not out.read_text("utf-8")


def test_a_server_that_starts_later_is_waited_for(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    with contextlib.ExitStack() as stack, socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        free.close()

        def start(_: float) -> None:
            stack.enter_context(model_server(port))

        monkeypatch.setattr("gem.cli.arguments.endpoint.time.sleep", start)
        url = f"http://127.0.0.1:{port}/v1"
        ran = run("eval", "--agent", "endpoint", "--url", url, "--model", "bisect", "--env", HARD, "--episodes", 2)
        assert "Nothing answers" in ran.err
        assert ran.code == 0, ran.err
