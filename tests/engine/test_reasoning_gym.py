"""All datasets of ReasoningGym: listed without the package, the same problem for a seed for ever, safely judged."""

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

import gem
from gem.envs.reasoning import helper, source
from gem.envs.reasoning.answers import is_safe
from gem.envs.reasoning.dataset import ReasoningGymEnv
from gem.envs.reasoning.datasets import DATASETS
from gem.errors import EnvironmentFailure, InvalidArgument, MissingDependency
from gem.processes import HelperBusy, HelperProcess
from tests.engine import golden
from tests.engine.episodes import digest, random_episode

ROOT = Path(__file__).parents[2]
IDS = [f"rg:{name}" for name in DATASETS]
WITHOUT_A_KEY = {"boxnet", "graph_color", "propositional_logic", "rubiks_cube", "rush_hour"}
"""Datasets that give no answer, only a judgement."""


def make(name: str, **arguments: object) -> ReasoningGymEnv:
    env = gem.make(f"rg:{name}", **arguments)
    assert isinstance(env, ReasoningGymEnv)
    return env


@pytest.fixture(scope="module")
def package() -> dict[str, Any]:
    """What the package itself says: its datasets, and the first questions of some."""
    program = (
        "import json, reasoning_gym as rg\n"
        "from reasoning_gym.factory import DATASETS\n"
        "names = ['letter_counting', 'chain_sum', 'sudoku', 'acre', 'gsm_symbolic', 'pool_matrix']\n"
        "sets = {n: rg.create_dataset(n, size=500, seed=42) for n in names}\n"
        "questions = {n: [d[i]['question'] for i in range(4)] for n, d in sets.items()}\n"
        "print(json.dumps({'datasets': sorted(DATASETS), 'questions': questions}))"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, check=True)
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_the_list_is_that_of_the_installed_version(package: dict[str, Any]) -> None:
    assert package["datasets"] == sorted(DATASETS)
    assert [spec.id for spec in gem.registry.specs() if spec.category == "rg"] == IDS
    assert all(summary.endswith(".") and len(summary) < 100 for summary in DATASETS.values())


def test_the_package_is_never_imported_here() -> None:
    make("letter_counting").reset(seed=0)
    assert "reasoning_gym" not in sys.modules


@pytest.mark.parametrize("env_id", IDS)
def test_every_dataset_gives_the_problems_of_the_day_when_its_version_was_set(env_id: str) -> None:
    assert digest(env_id, golden.seeds_of("rg")) == json.loads(golden.FILE.read_text())[env_id]["digest"]


@pytest.mark.parametrize("env_id", IDS)
def test_every_dataset_takes_any_seed_and_knows_its_own_answer(env_id: str) -> None:
    env = make(env_id.removeprefix("rg:"))
    for seed in (0, 2**31 - 1, 2**63 - 1):
        question, info = env.reset(seed=seed)
        assert len(question) > 10
        assert "\\boxed" in info["suffix"]
        right = env.get_state()["right"]
        assert (right is None) == (env_id.removeprefix("rg:") in WITHOUT_A_KEY) or env_id == "rg:composite"
        if right is not None and right.count("{") == right.count("}") and right.strip() == right:
            _, reward, terminated, truncated, info = env.step(f"I think it is \\boxed{{{right}}}.")
            assert (terminated, truncated, info["success"]) == (True, False, reward >= 1)
            assert reward == 1, question


def test_a_sequence_of_too_large_numbers_is_dropped_before_they_are_computed() -> None:
    env = make("number_sequence")  # for these seeds, the dataset draws a rule that squares four times
    endings = [env.reset(seed=seed)[0].splitlines()[-1] for seed in (121, 1663)]
    assert endings == ["-9, -9, -18, -27, -45, ?", "-1, -2, -4, -8, -16, -32, -64, -128, ?"]


def test_what_was_asked_before_does_not_matter_and_a_helper_that_dies_is_replaced() -> None:
    names = ["polynomial_multiplication", "isomorphic_strings", "ransom_note", "word_ladder", "knight_swap", "codeio",
             "pool_matrix", "intermediate_integration"]  # fmt: skip
    problems = {name: [random_episode(make(name), seed) for seed in range(3)] for name in names}
    process = source._source._process
    assert process is not None
    os.kill(process.pid, signal.SIGKILL)
    process.wait()  # another process, in another order
    for name in reversed(names):
        assert [random_episode(make(name), seed) for seed in (2, 1, 0)][::-1] == problems[name]


def test_the_first_problems_are_those_that_gem_gives_one_after_the_other(package: dict[str, Any]) -> None:
    for name, questions in package["questions"].items():
        env = make(name)
        assert [env.reset(seed=seed)[0] for seed in range(4)] == questions


def test_the_last_box_counts_and_no_box_is_no_answer() -> None:
    env = make("chain_sum")
    env.reset(seed=1)
    right = env.get_state()["right"]
    assert env.step(f"\\boxed{{7}}, no: \\boxed{{{right}}}")[1] == 1
    env.reset(seed=1)
    observation, reward, *_, info = env.step(right)
    assert (reward, info["error"], info["success"]) == (0, "format", False)
    assert right in observation


def test_a_dataset_takes_its_settings_and_refuses_others() -> None:
    env = make("chain_sum", config={"min_terms": 9, "max_terms": 9})
    question, _ = env.reset(seed=0)
    assert question.count("+") + question.count("-") >= 8
    assert question != make("chain_sum").reset(seed=0)[0] != make("chain_sum", dataset_seed=7).reset(seed=0)[0]
    with pytest.raises(InvalidArgument, match=r"does not take this config.*min_turns"):
        make("chain_sum", config={"min_turns": 9})
    with pytest.raises(InvalidArgument, match="no dataset 'chain'"):
        ReasoningGymEnv("chain")
    with pytest.raises(InvalidArgument, match="at least 1"):
        make("chain_sum", size=0)


ATTACKS = [
    "__import__('os').system('touch {}')",
    "[__import__('os').system('touch {}')]",
    "(lambda: exec(\"open('{}', 'w')\"))()",
    "x.__class__.__init__.__globals__",
    "9**9**9**9",
    "9**(9**(9+x-x))",
    "((9**99)**99)**99**9",
    "(" * 5000,
    "[" * 5000,
    "1" * 30_000,
]


@pytest.mark.parametrize("attack", ATTACKS, ids=range(len(ATTACKS)))
@pytest.mark.parametrize("name", ["n_queens", "string_insertion", "spiral_matrix", "binary_matrix", "puzzle24",
                                  "countdown", "simple_integration", "intermediate_integration",
                                  "polynomial_multiplication"])  # fmt: skip
def test_an_answer_is_never_run_as_a_program(name: str, attack: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    env = make(name)
    env.reset(seed=1)
    _, reward, terminated, *_ = env.step(f"\\boxed{{{attack.replace('{}', str(trace))}}}")
    assert (terminated, reward < 0.1) == (True, True)
    assert not trace.exists()


def test_formulas_and_lists_are_judged_as_before() -> None:
    entry = {"answer": "1 2", "metadata": {}}
    for formula in ("x**2/2 + C", "3*(4+5)-2", "-exp(2*x)*cos(x)/5", "(x+1)**3", "1.5*sqrt(x)", "x**(3/2)"):
        assert is_safe("simple_integration", formula, entry)
    for formula in ("a.b", "f(x)", "[1]", "True", "'x'", "x if x else y", "exp(x, y)", "3!", "sin(*x)"):
        assert not is_safe("simple_integration", formula, entry)
    assert is_safe("spiral_matrix", "[1, 2, 3]", entry)
    assert is_safe("spiral_matrix", "1 2", entry)
    assert not is_safe("spiral_matrix", "1 3", entry)
    env = make("spiral_matrix")
    env.reset(seed=0)
    numbers = env.get_state()["right"].split()
    assert env.step(f"\\boxed{{[{', '.join(numbers)}]}}")[1] == 0.1  # what the scorer gives for a list


def test_a_helper_that_cannot_start_is_reported(monkeypatch) -> None:
    env = make("letter_counting")
    monkeypatch.setattr(
        source, "_source", HelperProcess("gem.envs.reasoning.helper", "The process", folder=source.FOLDER)
    )
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(EnvironmentFailure, match="ends before it answers"):
        env.reset(seed=4)


@pytest.mark.parametrize(
    ("name", "config", "problem"),
    [
        ("count_primes", {"min_n": 1, "max_n": 10**9}, "needs more than 2 GB of memory"),
        ("n_queens", {"n": 40}, "does not take this config: AssertionError"),
    ],
)
def test_a_config_that_asks_for_too_much_is_refused(name: str, config: dict[str, int], problem: str) -> None:
    with pytest.raises(InvalidArgument, match=problem):
        make(name, config=config)


def test_what_was_asked_before_is_forgotten_when_memory_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    short = [MemoryError(), None, MemoryError(), MemoryError()]

    def describe(_: helper.Request) -> dict[str, Any]:
        if error := short.pop(0):
            raise error
        return {}

    monkeypatch.setitem(helper.HANDLERS, "describe", describe)
    assert helper._handle({"do": "describe"}) == {}
    assert helper._handle({"do": "describe"}) == {"error": "it needs more than 2 GB of memory"}
    assert short == []


def test_a_check_on_a_server_keeps_no_dataset(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(helper, "_dataset", lru_cache(lambda name, *_: made.append(name)))
    request = {"do": "describe", "dataset": "gcd", "size": 500, "dataset_seed": 42, "config": {"min_numbers": 2}}
    for more in ({}, {}, {"forget": True}, {"forget": True}):
        assert helper._handle({**request, **more}) == {}
    assert len(made) == 3


def test_a_process_that_took_much_memory_for_a_check_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    request = {"dataset": "gcd", "size": 500, "dataset_seed": 42, "config": {}}
    check = {**request, "do": "describe", "forget": True}
    lines = [json.dumps(line) for line in (check, {**request, "do": "problem", "seed": 1}, check, check)]
    peaks = iter([helper.MAX_KEPT_BYTES, helper.MAX_KEPT_BYTES + 1])
    monkeypatch.setattr(helper, "_peak_memory", lambda: next(peaks))
    monkeypatch.setattr(helper, "_handle", lambda request: {"did": request["do"]})
    assert [answer["did"] for answer in helper._answer(lines)] == ["describe", "problem", "describe"]


def test_a_config_that_takes_too_long_is_refused(light: HelperProcess) -> None:
    with pytest.raises(InvalidArgument, match=r"could not be made with this config\. The light process took too much"):
        make("letter_counting", config={"endless": True})


def test_configs_are_checked_apart_from_those_who_play(checker: source.Checker, light: HelperProcess) -> None:
    make("letter_counting", config={"min_words": 2})
    assert (checker.helper.has_process, light.has_process) == (True, False)
    with checker.helper._lock:  # somebody else's config is checked
        assert make("letter_counting").reset(seed=0)[0]
        make("letter_counting", config={"endless": True})  # nobody waits long for a check, and so it is left out
        with pytest.raises(HelperBusy, match="is busy with other requests"):
            checker.call(do="describe")
    source.close()
    assert not checker.helper.has_process


def test_checks_of_a_minute_take_so_long_only(checker: source.Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "CHECK_SECONDS_PER_MINUTE", 0.1)
    for minute in range(2):
        monkeypatch.setattr(source, "monotonic", lambda minute=minute: monotonic() + 61 * minute)
        with pytest.raises(InvalidArgument, match="took too much time"):
            make("letter_counting", config={"endless": True})
        make("letter_counting", config={"endless": True})
        with pytest.raises(HelperBusy, match="has checked many configs in the last minute"):
            checker.call(do="describe")


@pytest.fixture
def checker(light: HelperProcess, monkeypatch: pytest.MonkeyPatch) -> Iterator[source.Checker]:
    """What checks configs on a server, without the package."""
    monkeypatch.setattr(source, "MODULE", light.module)
    monkeypatch.setattr(source, "LONGEST_WAIT_SECONDS", 0.01)
    monkeypatch.setattr(source, "_checker", None)
    source.check_apart()
    assert source._checker is not None
    yield source._checker
    source._checker.helper.close()


@pytest.fixture
def light(monkeypatch: pytest.MonkeyPatch) -> Iterator[HelperProcess]:
    """A helper that starts without the package and never finishes a score."""
    helper = HelperProcess("tests.engine.light_reasoning", "The light process", folder=source.FOLDER)
    monkeypatch.setattr(source, "_source", helper)
    yield helper
    helper.close()


def test_an_answer_that_takes_too_long_earns_nothing(
    light: HelperProcess, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    env = make("letter_counting")
    env.reset(seed=0)
    assert len(list(tmp_path.iterdir())) == 1
    observation, reward, terminated, _, info = env.step("\\boxed{1}")
    assert (reward, terminated, info["success"]) == (0, True, False)
    assert observation.startswith("That is not correct.")
    assert list(tmp_path.iterdir()) == []


def test_a_helper_whose_owner_was_killed_leaves_no_folder(tmp_path: Path) -> None:
    program = (
        "import gem, signal\nfrom gem.envs.reasoning import source\n"
        "source._source.module = 'tests.engine.light_reasoning'\n"
        "gem.make('rg:letter_counting').reset(seed=0)\nprint('there', flush=True)\nsignal.pause()"
    )
    owner = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, env={**os.environ, "TMPDIR": str(tmp_path)}, stdout=subprocess.PIPE
    )
    assert owner.stdout is not None
    with owner.stdout as said:
        assert said.readline() == b"there\n"
        folders = list(tmp_path.iterdir())
        owner.kill()
        owner.wait()
    assert [folder.name.startswith(source.FOLDER) for folder in folders] == [True]
    deadline = time.monotonic() + 30
    while folders[0].exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not folders[0].exists()


def _question() -> str:
    return make("letter_counting").reset(seed=0)[0]


def test_a_forked_process_has_a_helper_of_its_own(light: HelperProcess) -> None:
    ours = _question()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        theirs = pool.apply(_question)
    assert light._process is not None
    assert str(light._process.pid) in ours
    assert theirs.startswith("Which process is")
    assert str(light._process.pid) not in theirs
    assert make("letter_counting").reset(seed=1)[0] == ours  # the answers still come to whom they belong


def test_without_the_package_one_sentence_says_what_to_install(tmp_path: Path) -> None:
    program = (
        "import sys, importlib.metadata as m, gem\n"
        "sys.path[:] = [p for p in sys.path if 'site-packages' not in p]\n"
        "spec = gem.spec('rg:chain_sum')\n"
        "print(spec.missing_packages())\n"
        "try: gem.make('rg:chain_sum')\n"
        "except gem.errors.MissingDependency as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    missing, sentence = done.stdout.splitlines()
    assert missing == "['reasoning-gym']"
    assert sentence.endswith("pip install reasoning-gym")
    assert issubclass(MissingDependency, ImportError)
