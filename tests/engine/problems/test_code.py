"""`code:` environments: GEM's ids and rewards, every test's result, and replays that run nothing."""

import json
from typing import Any

import pytest

import gem
import gem.sandbox
from gem.datasets import load
from gem.errors import InvalidArgument, SandboxUnavailable
from gem.records import Identity, TurnRecord
from gem.replay import frames, is_taped, verify
from gem.sandbox import levels, pool
from gem.views.plain_text import text_of

if gem.sandbox.level() == "disabled":
    pytest.skip("no sandbox here", allow_module_level=True)

IDS = ["code:CodeContest", "code:Taco8k", "code:PrimeIntellect15k", "eval:CodeContest"]
ADD = {"problem": "Add.", "tests": {"inputs": ["1 2", "3 4", "5 6"], "outputs": ["3", "7", "11"]}}
RIGHT = "I add them.\n```python\nprint(1)\n```\nNo:\n```py\nprint(sum(map(int, input().split())))\n```"


def play(row: dict[str, object], action: str) -> tuple[gem.Env, gem.core.Step]:
    env = gem.make("code:CodeContest", dataset=[row])
    env.reset(seed=0)
    return env, env.step(action)


@pytest.mark.parametrize("env_id", IDS)
def test_a_solution_earns_one_and_a_wrong_program_nothing(env_id: str) -> None:
    env, data = gem.make(env_id), load("sample:code")
    observation, info = env.reset(seed=7)
    assert observation == data[7]["problem"]
    assert "```python" in info["suffix"]
    observation, reward, terminated, truncated, info = env.step(f"```python\n{data[7]['solution']}\n```")
    assert (reward, terminated, truncated, info["success"]) == (1.0, True, False, True)
    assert observation == "All 10 tests passed."
    assert info["tests"] == {"passed": 10, "of": 10}
    assert info["sandbox"] == gem.sandbox.level()
    env.reset(seed=7)
    _, reward, *_, info = env.step("```\nprint('no')\n```")
    assert (reward, info["success"]) == (0.0, False)


def test_the_last_code_block_counts() -> None:
    assert play(ADD, RIGHT)[1][1] == 1.0


def test_half_of_a_surrogate_pair_is_the_fault_of_the_program() -> None:
    _, (observation, reward, terminated, _, info) = play(ADD, "```\nprint('\ud83d')\n```")
    assert (reward, terminated, info["success"]) == (0.0, True, False)
    assert "UnicodeEncodeError" in observation  # what Python says when it prints that


def test_without_a_code_block_a_tenth_is_lost() -> None:
    _, (observation, reward, terminated, _, info) = play(ADD, "print(3)")
    assert (reward, terminated, info["error"], info["success"]) == (-0.1, True, "format", False)
    assert "no code block" in observation


def test_it_says_what_became_of_the_first_test_that_failed() -> None:
    env, (observation, reward, *_) = play(ADD, "```python\nprint(7 if input()[0] != '5' else 1 / 0)\n```")
    assert reward == 0.0
    assert observation == "1 of 3 tests passed. Test 1: wrong answer."
    assert env.view()["tests"][2]["said"].startswith(  # type: ignore[typeddict-item]
        'Traceback (most recent call last):\n  File "solution.py", line 1, in <module>\n    print('
    )
    assert [test["status"] for test in env.view()["tests"]] == ["failed", "passed", "failed"]  # type: ignore[typeddict-item]
    picture = text_of(env.view())
    assert "Test 2: passed\nTest 3: error" in picture
    assert "    print(7 if" in picture


def test_it_says_why_a_program_cannot_be_compiled() -> None:
    _, (observation, *_) = play(ADD, "```python\nprint(\n```")
    assert "'(' was never closed" in observation


def test_only_the_longest_tests_are_run() -> None:
    row = {"problem": "Echo.", "tests": {"inputs": ["1", "22", "333"], "outputs": ["wrong", "22", "333"]}}
    env = gem.make("code:Taco8k", dataset=[row], max_tests=2)
    env.reset(seed=0)
    assert env.step("```\nprint(input())\n```")[1] == 1.0


HUMAN_EVAL = {
    "prompt": "from typing import List\n\ndef total(numbers: List[int]) -> int:\n    '''Adds them.'''\n",
    "entry_point": "total",
    "test": "def check(candidate):\n    assert candidate([1, 2]) == 3\n    assert candidate([]) == 0\n",
}


@pytest.mark.parametrize(
    ("answer", "reward"),
    [
        ("    return sum(numbers)", 1.0),
        ("def total(numbers):\n    return sum(numbers)", 1.0),
        ("def total(numbers: List[int]) -> int:\n    return 3", 0.0),
        ("raise SystemExit(0)", 0.0),
    ],
    ids=["a completion", "a function", "a wrong one", "a way out"],
)
def test_problems_of_human_eval_are_played(answer: str, reward: float) -> None:
    env, step = play(HUMAN_EVAL, f"```python\n{answer}\n```")
    assert step[1] == reward
    assert "`total`" in env.prompt


def test_a_replay_takes_the_results_from_the_record_and_runs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    env = gem.make("code:CodeContest", seed=3)
    _, first = env.reset()
    action = "```python\nprint(1 / 0)\n```"
    observation, reward, *_, info = env.step(action)
    identity = Identity("code:CodeContest", 1, 3, data_hash=env.data_hash)
    assert is_taped(identity)
    recorded = json.loads(json.dumps(info))
    turn = TurnRecord(action, observation, reward, recorded)
    assert verify(identity, [turn], first_info=first) is None
    recorded["sandbox"], recorded["test_results"][0]["said"] = "another", "another text"
    assert verify(identity, [turn], first_info=first) is None
    turn.info["tests"]["passed"] = 10
    assert "info['tests']" in str(verify(identity, [turn], first_info=first))
    monkeypatch.setattr(levels, "_choice", levels.LevelChoice("disabled", (), "switched off"))
    pool.close_shared()
    *_, last = frames(identity, [action], [first, info])
    assert (last.reward, last.view, last.info["test_results"]) == (reward, env.view(), info["test_results"])
    env.reset()
    with pytest.raises(SandboxUnavailable, match="switched off"):
        env.step(action)


@pytest.mark.parametrize(
    "forged", [{"test_results": 3}, {"test_results": [1, {"status": "passed"}, {"status": []}]}, {"x": 1}]
)
def test_a_forged_record_breaks_nothing(forged: dict[str, object]) -> None:
    env = gem.make("code:CodeContest", dataset=[ADD])
    env.reset(seed=0)
    env.feed_tape(forged)
    observation, *_ = env.step("```\nx\n```")
    assert observation
    assert env.view()["kind"] == "code"


@pytest.mark.parametrize("wrong", [{"max_tests": 0}, {"test_seconds": 0}, {"test_key": "none"}])
def test_impossible_arguments_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidArgument):
        gem.make("code:CodeContest", **wrong)


def test_the_tests_that_a_problem_shows_are_public_and_no_others() -> None:
    rows = [
        {
            "problem": "Add.\n\nInput:\n1 2\nOutput:\n3\n\nNumbers are up to 5.",
            "tests": {"inputs": ["1 2", "5", "2 2"], "outputs": ["3", "5", "4"]},
        },
        {
            "problem": "def add(a, b)\n\n>>> add(1, 2)\n3\n>>> add(*range(2))\n1\n>>> print(3)\n3",
            "tests": {"fn_name": "add", "inputs": [[4, 4]], "outputs": [8]},
        },
        {"problem": "Say nothing.", "tests": {"inputs": ["x"], "outputs": [""]}},
    ]
    env: Any = gem.make("code:Taco8k", dataset=rows)
    env.reset(seed=0)
    assert [test.input for test in env.public_tests()] == ["1 2"]
    env.reset(seed=1)
    assert [(test.input, test.expected) for test in env.public_tests()] == [((1, 2), 3)]
    env.reset(seed=2)
    assert env.public_tests() == []
    assert env.try_out("print(1)") == []


def test_trying_a_program_out_changes_nothing() -> None:
    env: Any = gem.make(
        "code:Taco8k", dataset=[{"problem": "Input:\n1 2\nOutput:\n3", "tests": {"inputs": ["1 2"], "outputs": ["3"]}}]
    )
    env.reset(seed=0)
    before = env.get_state()
    statuses = [env.try_out(code)[0]["status"] for code in ("print(3)", "print(4)", "1/0")]
    assert statuses == ["passed", "failed", "failed"]
    assert env.get_state() == before
