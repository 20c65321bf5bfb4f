"""`gemweb eval`: episodes, scores with intervals, and going on after an interruption."""

import gc
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import gem
from gem.evaluation.intervals import SeedSums, estimate_return, estimate_share
from gem.evaluation.scores import Outcome, interval, pool, summarize
from gem.net.addresses import ADDRESSES_VARIABLE
from gem.registry import ENV_REGISTRY
from gem.wrappers.record_episodes import RecordEpisodes
from tests.engine.cli.conftest import Run

ENV_ID = "game:GuessTheNumber-v0-easy"
OTHER = "game:GuessTheNumber-v0-hard"


def episodes(out: Path) -> list[dict]:
    return [json.loads(line) for line in out.read_text("utf-8").splitlines()]


def test_it_prints_one_row_for_each_environment(run: Run) -> None:
    code, out, _ = run("eval", "--agent", "expert", "--env", ENV_ID, "--env", OTHER, "--episodes", 12)
    assert code == 0
    first, _, *rows, note, reason = out.splitlines()
    assert first == "expert, 24 episodes"
    assert [row.split()[:2] for row in rows] == [[ENV_ID, "12"], [OTHER, "12"]]
    assert rows[0].split()[2:6] == ["1.000", "100.0%", "[71.2%,", "100.0%]"]
    assert note == "In brackets: 95 % intervals over seeds."
    assert "the returns of all 12 seeds are equal" in reason


def test_the_numbers_are_those_of_the_episodes_written(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "random.jsonl"
    arguments = ["--agent", "random", "--env", ENV_ID, "--episodes", 20, "--seed", 50, "--num-envs", 3, "--out", out]
    printed = run("eval", *arguments).out
    written = sorted(episodes(out), key=lambda episode: episode["index"])
    assert [episode["seed"] for episode in written] == list(range(50, 70))
    assert {episode["agent"] for episode in written} == {"random"}
    mean, low, high = interval([episode["total_reward"] for episode in written])
    assert f"{mean:.3f} [{low:.3f}, {high:.3f}]" in printed
    share = estimate_share((1, episode["success"]) for episode in written)
    assert f"{share.mean:.1%} [{share.low:.1%}, {share.high:.1%}]" in printed
    assert f"{sum(episode['turn_count'] for episode in written) / 20:.1f}" in printed.splitlines()[2]
    errors = [turn["info"].get("error") for episode in written for turn in episode["turns"]]
    shares = [f"{errors.count(kind) / len(errors):.1%}" for kind in ("format", "rule")]
    assert printed.splitlines()[2].split()[-2:] == shares
    assert shares[1] != "0.0%", "a random agent guesses twice"


def test_the_scores_as_json_are_those_of_the_table(run: Run) -> None:
    asked = ["eval", "--agent", "random", "--env", ENV_ID, "--env", OTHER, "--episodes", 20, "--repeats", 2]
    shown, data = run(*asked).out, json.loads(run(*asked, "--json").out)
    assert (data["agent"], data["benchmark"], data["score"], data["booked"]) == ("random", None, None, None)
    assert [one["env_id"] for one in data["environments"]] == [ENV_ID, OTHER]
    for one in data["environments"]:
        assert (one["episodes"], one["failed"], one["unanswered"], one["version"]) == (40, 0, 0, 1)
        solved, returned = one["success"], one["mean_return"]
        assert f"{solved['mean']:.1%} [{solved['low']:.1%}, {solved['high']:.1%}]" in shown
        assert f"{returned['mean']:.3f} [{returned['low']:.3f}, {returned['high']:.3f}]" in shown
        assert (solved["seeds"], solved["reason"]) == (20, "")
        assert one["pass_at"].keys() == {"1", "2"}
        assert f"{one['forbidden']:.1%}" in shown


def test_the_score_of_a_benchmark_is_in_the_json(run: Run) -> None:
    asked = ["eval", "--agent", "random", "--benchmark", "math-drawn"]
    data = json.loads(run(*asked, "--json").out)
    shown = run(*asked).out
    assert data["benchmark"] == "math-drawn"
    scores = [one["score"] for one in data["environments"]]
    assert data["score"]["mean"] == pytest.approx(sum(one["mean"] for one in scores) / 3)
    assert f"or best possible): {data['score']['mean']:.3f}\n" in shown
    assert data["score"]["low"] is None, "all returns are equal, so there is no interval"
    assert scores[0]["reason"] in shown


def test_it_goes_on_where_the_file_ends(run: Run, tmp_path: Path) -> None:
    whole, part = tmp_path / "whole.jsonl", tmp_path / "part.jsonl"
    asked = ["eval", "--agent", "random", "--env", ENV_ID, "--episodes", 12, "--out"]
    expected = run(*asked, whole).out
    lines = whole.read_bytes().splitlines(keepends=True)
    part.write_bytes(b"".join(lines[:5]) + lines[5][:80])  # as a killed program leaves it
    ran = run(*asked, part)
    assert ran.out == expected
    assert "5 of 12 episodes are in" in ran.err
    again = part.read_bytes()
    assert sorted(again.splitlines()) == sorted(line.strip() for line in lines)
    ran = run(*asked, part)
    assert ran.out == expected
    assert "12 of 12 episodes" in ran.err
    assert part.read_bytes() == again


def test_a_turn_budget_ends_it_and_counts_what_was_played_before(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "log.jsonl"
    same = ["eval", "--agent", "random", "--env", "game:GuessTheNumber-v0-easy", "--episodes", 50, "--out", out]
    ran = run(*same, "--turn-budget", 60)
    assert (ran.code, "The budget of 60 turns is used up. Finished episodes count." in ran.err) == (0, True)
    finished = [json.loads(line) for line in out.read_text("utf-8").splitlines()]
    turns = sum(len(episode["turns"]) for episode in finished)
    assert 0 < turns <= 60
    again = run(*same, "--turn-budget", turns + 1)
    assert "The budget of" in again.err
    assert sum(len(json.loads(line)["turns"]) for line in out.read_text("utf-8").splitlines()) <= turns + 1


def test_what_another_agent_or_limit_left_in_the_file_does_not_count(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "all.jsonl"
    for more in (["random"], ["expert"], ["expert", "--max-turns", 2]):
        run("eval", "--env", ENV_ID, "--episodes", 3, "--out", out, "--agent", *more)
    played = [(episode["agent"], len(episode["wrappers"]), episode["seed"]) for episode in episodes(out)]
    assert sorted(played) == [
        (agent, n, s) for agent, n in (("expert", 0), ("expert", 1), ("random", 0)) for s in range(3)
    ]
    assert all(episode["turn_count"] <= 2 for episode in episodes(out) if episode["wrappers"])


@pytest.mark.parametrize("content", ["my notes", "my notes\nand more\n", '{"a": 1}', "[1, 2]\n", b"\xff\xfe\x00"])
def test_a_file_of_something_else_is_left_alone(run: Run, tmp_path: Path, content: str | bytes) -> None:
    out = tmp_path / "notes.txt"
    before = content if isinstance(content, bytes) else content.encode()
    out.write_bytes(before)
    code, _, err = run("eval", "--agent", "random", "--env", ENV_ID, "--episodes", 1, "--out", out)
    assert code == 2
    assert str(out) in err
    assert out.read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--env", ENV_ID, "--agent", "experts"], "Did you mean expert?"),
        (["--env", ENV_ID, "--agent", "random", "--episodes", "0"], "must be from 1 to 10,000, not 0"),
        (["--env", ENV_ID, "--agent", "random", "--num-envs", "0"], "must be from 1 to 256, not 0"),
        (["--env", ENV_ID, "--env", ENV_ID, "--agent", "random"], "chosen twice"),
        (["--env", "game:Nim-v9", "--agent", "random"], "No environment is registered"),
        (["--benchmark", "gamez", "--agent", "random"], "There is no benchmark 'gamez'"),
        (["--benchmark", "games-esy", "--agent", "random"], "Did you mean games-easy?"),
        (["--benchmark", "games", "--agent", "random", "--max-turns", "3"], "leave yours out"),
        (["--env", ENV_ID, "--agent", "random", "--episodes", "1", "--out", "/no/such/folder/x"], "cannot be written"),
        (["--env", ENV_ID, "--agent", "random", "--episodes", "1", "--out", "."], "."),
    ],
)
def test_bad_input_is_answered_in_one_sentence(run: Run, arguments: list[str], sentence: str) -> None:
    code, out, err = run("eval", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_an_expert_is_asked_only_where_there_is_one(run: Run, coin_row) -> None:
    module = coin_row()
    code, _, err = run("eval", "--agent", "expert", "--env", "game:CoinRow-v0", "--module", module)
    assert (code, err) == (2, "gemweb eval: There is no expert for game:CoinRow-v0.\n")


def test_a_broken_environment_is_counted_apart(run: Run, coin_row, tmp_path: Path) -> None:
    module = coin_row(("coin = self.row.pop", "coin = 1 // (self.rng.random() < 0.5) and self.row.pop"))
    out = tmp_path / "broken.jsonl"
    arguments = ["--agent", "random", "--env", "game:CoinRow-v0", "--episodes", 40, "--out", out, "--module", module]
    code, printed, _ = run("eval", *arguments)
    failed = sum("ZeroDivisionError" in episode["failure"] for episode in episodes(out))
    assert code == 1, "more than a tenth failed"
    assert 0 < failed < 40
    assert f"In {failed} episodes the environment failed" in printed
    assert printed.splitlines()[2].split()[1] == str(40 - failed)


def test_a_benchmark_is_scored_as_on_the_leaderboard(run: Run, tmp_path: Path, monkeypatch) -> None:
    from gem import benchmarks

    games = benchmarks.load("games")
    small = tuple(
        benchmarks.BenchmarkEntry(e.env_id, e.first_seed, 12, e.random_return, e.best_return)
        for e in games.entries
        if "Guess" in e.env_id
    )
    tiny = benchmarks.Benchmark("games", 1, "Games", "", small)
    monkeypatch.setattr(benchmarks, "load", {"games": tiny}.__getitem__)
    out = tmp_path / "games.jsonl"
    code, printed, _ = run("eval", "--agent", "random", "--benchmark", "games", "--out", out)
    assert code == 0
    scores = []
    for entry in small:
        returns = [
            e["total_reward"] for e in sorted(episodes(out), key=lambda e: e["seed"]) if e["env_id"] == entry.env_id
        ]
        score = estimate_return([SeedSums.of([entry.normalize(value)]) for value in returns]).interval
        assert score is not None
        scores.append(score)
    whole = pool(scores)
    assert (
        f"Score on games (0: random, 1: best possible): {whole.mean:.3f} [{whole.low:.3f}, {whole.high:.3f}]" in printed
    )


def test_summaries_do_not_depend_on_the_order() -> None:
    rows = [Outcome(i, float(i % 3), i % 2 == 0, i, i == 4) for i in range(9)]
    summary = summarize(rows)
    assert summary == summarize(reversed(rows))
    assert (summary.n, summary.failed, summary.mean_turns) == (8, 1, 4.0)
    assert summary.success is not None
    assert summary.success.mean == 0.5
    nothing = summarize([])
    assert (nothing.n, nothing.mean_return, nothing.success, nothing.mean_turns) == (0, None, None, None)


def test_an_opponent_is_met_from_both_seats_on_the_same_seeds(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "duel.jsonl"
    asked = ["eval", "--agent", "expert", "--opponent", "random", "--env", "duel:KuhnPoker-v0", "--out", out]
    printed = run(*asked, "--episodes", 6).out
    assert "expert against random, from each seat equally often, 6 episodes" in printed
    written = sorted(episodes(out), key=lambda episode: episode["index"])
    assert [(one["seed"], one["seat"]) for one in written] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (2, 1)]
    for one in written:
        assert (one["agent"], one["opponent"]) == ("expert", "random")
        assert one["total_rewards"][one["seat"]] == one["total_reward"] == -one["total_rewards"][1 - one["seat"]]
        assert [turn["seat"] for turn in one["turns"]] == [n % 2 for n in range(one["turn_count"])]
    assert "6 of 8 episodes" in run(*asked, "--episodes", 8).err
    assert run("replay", out).out.startswith("8 of 8 episodes identical")
    asked[4] = "expert"
    assert "of 8 episodes" not in run(*asked, "--episodes", 8).err


def test_seats_are_filled_or_the_command_says_so(run: Run) -> None:
    for arguments, sentence in (
        (["--env", "duel:TicTacToe-v0"], "name an opponent"),
        (["--env", ENV_ID, "--opponent", "random"], "leave it out"),
        (["--env", "duel:TicTacToe-v0-vs-random", "--opponent", "random"], "leave it out"),
        (["--env", "duel:TicTacToe-v0", "--opponent", "exprt"], "Did you mean expert"),
        (["--env", "duel:TicTacToe-v0", "--opponent", ""], "There is no agent of kind ''"),
    ):
        ran = run("eval", "--agent", "random", "--episodes", 2, *arguments)
        assert ran.code == 2
        assert sentence in ran.err


def test_tools_are_played_with_recorded_and_named(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("bm25s")
    out = tmp_path / "tools.jsonl"
    asked = [
        "eval",
        "--agent",
        "random",
        "--env",
        ENV_ID,
        "--episodes",
        3,
        "--tool",
        "search:wikigame",
        "--tool-uses",
        2,
    ]
    ran = run(*asked, "--out", out)
    assert ran.out.startswith("random with search:wikigame, 2 uses, 3 episodes")
    described = {"name": "tools", "tools": [{"name": "search", "index": "wikigame"}], "max_tool_uses": 2}
    assert [one["wrappers"] for one in episodes(out)] == [[described]] * 3
    assert "3 of 3 episodes identical" in run("replay", out).out
    without = run("eval", "--agent", "random", "--env", ENV_ID, "--episodes", 3, "--out", out)
    assert "episodes are in" not in without.err, "what was played with tools does not count without them"


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["--tool", "pyton"], "There is no tool 'pyton' here. Did you mean python?"),
        (["--tool-uses", "3"], "--tool-uses and --tool-format belong to tools: name one with --tool."),
        (["--tool", "python", "--tool-uses", "0"], "Tools may be used 1 to 100 times in an episode, not 0."),
    ],
)
def test_tools_that_cannot_be_are_explained(run: Run, given: list[str], sentence: str) -> None:
    ran = run("eval", "--agent", "random", "--env", ENV_ID, "--episodes", 1, *given)
    assert (ran.code, ran.err) == (2, f"gemweb eval: {sentence}\n")


FAILING = """
import numpy as np

import gem
from gem.core import Env


class Failing(Env):
    def reset(self, seed=None):
        super().reset(seed)
        return RESET

    def step(self, action):
        if self.seed % 10 < FAILURES:
            raise KeyError(f"seed {self.seed}")
        return "", 1.0, True, False, {"success": True, **INFO}

    def sample_random_action(self):
        return "a"


gem.register("test:Failing-v0", f"{__name__}:Failing")
"""


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """`failing(FAILURES="3")` writes a module whose environment fails in 3 of 10 episodes; its name."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(**values: str) -> str:
        text = FAILING
        for name, value in ({"FAILURES": "0", "RESET": '"", {}', "INFO": "{}"} | values).items():
            text = text.replace(name, value)
        (tmp_path / "failing_env.py").write_text(text, "utf-8")
        return "failing_env"

    yield write
    sys.modules.pop("failing_env", None)
    ENV_REGISTRY.pop("test:Failing-v0", None)


PLAY_FAILING = ("--agent", "random", "--env", "test:Failing-v0", "--episodes", 20)


def test_too_many_episodes_with_errors_are_exit_code_1(run: Run, failing: Callable[..., str]) -> None:
    code, out, err = run("eval", "--module", failing(FAILURES="2"), *PLAY_FAILING)
    assert code == 1
    assert "random, 20 episodes" in out, "the results of the others are still printed"
    assert "In 4 episodes the environment failed" in out
    assert err.splitlines()[-1].startswith("gemweb eval: 4 of 20 episodes are not counted, and at most 10 % may be.")


def test_a_tenth_of_the_episodes_may_be_errors(run: Run, failing: Callable[..., str]) -> None:
    code, out, err = run("eval", "--module", failing(FAILURES="1"), *PLAY_FAILING)
    assert (code, "not counted" in err) == (0, False)
    assert "In 2 episodes the environment failed" in out


def test_one_traceback_is_logged_for_each_kind_of_failure(
    run: Run, failing: Callable[..., str], caplog: pytest.LogCaptureFixture
) -> None:
    assert run("eval", "--module", failing(FAILURES="10"), *PLAY_FAILING).code == 1
    first, total = caplog.records
    assert (first.exc_info is not None, first.message.startswith("The environment in slot")) == (True, True)
    assert total.message.startswith("Environments failed 20 times with KeyError")
    assert total.exc_info is None


def test_a_reset_that_returns_only_a_string_fails_every_episode(run: Run, failing: Callable[..., str]) -> None:
    code, out, err = run("eval", "--module", failing(RESET='"hello"'), *PLAY_FAILING)
    assert (code, "In 20 episodes the environment failed" in out) == (1, True)
    assert err.splitlines()[-1].startswith("gemweb eval: 20 of 20 episodes are not counted")


def test_a_server_that_is_not_there_is_exit_code_3(
    run: Run, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ADDRESSES_VARIABLE, raising=False)  # a site in the same process forbids all servers
    code, _, err = run("eval", "--env", "openenv:http://127.0.0.1:9", "--agent", "random", "--episodes", 2)
    assert code == 3, err
    assert err.splitlines()[-1].startswith("gemweb eval: The server at http://127.0.0.1:9: ")
    own = [record for record in caplog.records if record.name.startswith("gem")]
    assert not any(record.exc_info for record in own)
    code, out, err = run("play", "openenv:http://127.0.0.1:9")
    assert (code, out, err.count("\n")) == (3, "", 1), err
    gc.collect()  # a session that nobody closed says so when it is collected
    assert "Unclosed" not in caplog.text


NUMPY_INFO = '{"n": np.int64(3), "row": np.arange(3), "deep": [{"x": np.bool_(True)}]}'


def test_numpy_values_in_infos_are_written_as_numbers(run: Run, failing: Callable[..., str], tmp_path: Path) -> None:
    out = tmp_path / "numpy.jsonl"
    module = failing(INFO=NUMPY_INFO)
    assert run("eval", "--module", module, *PLAY_FAILING, "--out", out).code == 0
    info = episodes(out)[0]["turns"][0]["info"]
    assert (info["n"], info["row"], info["deep"]) == (3, [0, 1, 2], [{"x": True}])
    assert run("replay", out).out == "20 of 20 episodes identical (20 turns).\n"


def test_numpy_values_are_recorded_by_the_wrapper(run: Run, failing: Callable[..., str], tmp_path: Path) -> None:
    __import__(failing(INFO=NUMPY_INFO))
    out = tmp_path / "numpy.jsonl"
    env = RecordEpisodes(gem.make("test:Failing-v0"), out)
    env.reset(seed=0)
    env.step("a")
    assert episodes(out)[0]["turns"][0]["info"]["n"] == 3
    assert run("replay", out).code == 0


def test_an_info_that_is_not_json_fails_only_its_episode(run: Run, failing: Callable[..., str], tmp_path: Path) -> None:
    out = tmp_path / "objects.jsonl"
    module = failing(INFO='({"thing": object()} if self.seed == 7 else {})')
    code, printed, _ = run("eval", "--module", module, *PLAY_FAILING, "--out", out)
    assert (code, "In 1 episode the environment failed" in printed) == (0, True)
    failed = [episode for episode in episodes(out) if episode["failure"]]
    assert [episode["seed"] for episode in failed] == [7]
    assert failed[0]["failure"].startswith("Turn 1 has an info that cannot be written as JSON: Object of type object")
    assert (failed[0]["turns"], failed[0]["success"], failed[0]["failed_by"]) == ([], None, "environment")
    assert "20 of 20 episodes are in" in run("eval", "--module", module, *PLAY_FAILING, "--out", out).err
