"""What the documents show runs as it is written: blocks of Python, of JSON and TOML, and commands.

A block or command that nobody has said how to run fails; so a new one is run, or stands here with the reason why not.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.agents import make_agent
from gem.cli import _parser as gemweb_parser
from gem.cli import main as gemweb
from gem.envs.terminal import easy
from gem.envs.terminal.task import TASKS
from gem.errors import DataUnavailable
from gem.learnability import training as brief
from gem.records import episode_files
from gem.registry import ENV_REGISTRY
from gem.rollout import EpisodeRequest, rollout
from gem.tools.kinds import TOOLS
from gem.training import __main__ as training
from gem.training.run_folder import RunFolder
from gem.training.spec import read_spec
from tests.docs.blocks import blocks, commands
from tests.docs.tutorial import block
from tests.model_server import model_server

HERE = Path(gem.__file__).parent
NANO = HERE / "training/models/nano-base"
OLLAMA, QWEN = "http://127.0.0.1:11434/v1", "qwen3:4b"

ELSEWHERE = {
    "docs/engine.md": "tests/engine/test_engine_page.py",
    "docs/tools.md": "tests/engine/tools/test_documentation.py",
    "docs/api.md": "tests/platform/test_api_page.py",
    "docs/evaluations.md": "tests/apps/jobs/test_exports.py",
    "docs/played-elsewhere.md": "tests/engine/cli/test_challenge.py and tests/apps/leaderboard/test_challenges.py",
    "docs/add-an-environment.md": "tests/docs/test_authoring.py and tests/engine/test_written_for_gem.py",
}
"""Pages whose Python has tests of its own, which look at what comes of it."""
NOT_HERE = {
    "make ": "whole products, tests and checks: test_docs.py knows the targets, CI runs them",
    "git clone ": "needs a repository",
    ".venv/": "test_authoring.py installs the package; a GPU",
    "from gem.envs.games import": "a line of a file",
    "python -m tests.engine.golden": "writes into the checkout",
    "python -m pytest": "is running",
    "python -m bench.": "measures for minutes; test_docs.py knows the programs",
    "python -m tools.nano_base": "trains for an hour",
    "ollama ": "a program of others",
    "vllm ": "a program of others",
    "llama-server ": "a program of others",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 vllm ": "a program of others",
    "torchrun ": "needs GPUs",
    "curl ": "needs a site; tests/apps/episodes downloads, and test_replay.py reads standard input",
}
"""How commands begin that are not run here, and why."""
ONLY_READ = {
    "gemweb check gymnasium:": "starts processes; tests/engine/elsewhere/test_gymnasium.py",
    "gemweb data fetch": "downloads",
    "gemweb verify": "needs a certificate; tests/engine/verification/test_checking.py",
    "gemweb reproduce": "needs a site; tests/apps/leaderboard/test_proofs.py",
    "gemweb login": "needs a site; tests/platform/test_api_page.py",
    "gemweb challenge": "needs a site; tests/engine/cli/test_challenge.py",
    "gemweb eval --challenge": "needs a challenge; tests/engine/cli/test_challenge.py",
    "gemweb push": "needs a site; tests/engine/cli/test_challenge.py",
    "gemweb benchmark add": "needs a site; tests/apps/test_benchmarks_of_people.py",
    "gemweb study run": "trains for hours",
    "gemweb submit --study": "needs a site; tests/apps/studies/test_starting.py",
    "gemweb pull ID": "needs a site; tests/platform/test_client.py",
    "gemweb eval --agent random --benchmark games": "plays for a minute",
    "gemweb eval --agent endpoint --url https://api.example.org": "asks somebody else's server",
    "python -m gem.training ": "trains for minutes",
}
"""Commands whose options are read, and whose specification is made, but which are not carried out."""
SHORTER = [
    ("--episodes 200", "--episodes 3"),
    ("--episodes 50", "--episodes 3"),
    ("--envs 64", "--envs 2 --seconds 0.1"),
    ("--train 40", "--train 1 --seeds 10"),
    ("--seeds 100", "--seeds 10"),
]
"""Numbers that are made smaller, to be quick."""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder to be in, with indexes of its own; what a block registers is forgotten afterwards."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEM_DATA_FROM", "sample")
    monkeypatch.setenv("GEM_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("GEM_INDEXES", str(tmp_path / "indexes"))
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    kept: list[tuple[Any, dict[str, Any]]] = [(known, dict(known)) for known in (ENV_REGISTRY, TASKS, TOOLS)]
    yield tmp_path
    for known, before in kept:
        for name in [name for name in known if name not in before]:
            del known[name]
    for module in ("coin_row", "sort_letters"):
        sys.modules.pop(module, None)


# ------------------------------------------------------------------ Python


def test_pages_with_tests_of_their_own_are_there() -> None:
    assert {found.page for found in blocks("python")} >= ELSEWHERE.keys()


@pytest.mark.parametrize(
    "document", dict.fromkeys(found.page for found in blocks("python") if found.page not in ELSEWHERE)
)
def test_the_python_of_a_page_runs(document: str, folder: Path) -> None:
    names: dict[str, Any] = {}
    with PREPARED.get(document, _nothing)(folder, names) as substitute:
        for one in blocks("python"):
            if one.page == document:
                exec(compile(substitute(one.text), one.name, "exec"), names)
    EXPECTED.get(document, lambda _: None)(names)


Substitute = Callable[[str], str]
"""Puts what there is here in the place of what a text names."""


@contextmanager
def _nothing(folder: Path, names: dict[str, Any]) -> Iterator[Substitute]:
    yield lambda text: text


@contextmanager
def _datasets(folder: Path, names: dict[str, Any]) -> Iterator[Substitute]:
    """Files of problems; the hub is asked by whoever calls `hub`."""
    (folder / "problems.csv").write_text("problem,answer\n1 + 1?,2\n", "utf-8")
    (folder / "problems.jsonl").write_text('{"problem": "1 + 1?", "answer": "2"}\n', "utf-8")
    program = {"prompt": "def one():\n", "test": "def check(candidate):\n    assert candidate() == 1\n"}
    (folder / "HumanEval.jsonl").write_text(json.dumps({**program, "entry_point": "one"}) + "\n", "utf-8")
    yield lambda text: re.sub(r"^(gem\.make\(.*hub:.*)$", r"hub = lambda: \1", text, flags=re.MULTILINE)


@contextmanager
def _training(folder: Path, names: dict[str, Any]) -> Iterator[Substitute]:
    """A finished run, a tracker that remembers, and one update where the page makes a hundred."""
    pytest.importorskip("torch", reason="training is not installed")
    _run_folder(folder)
    (folder / "trackio.py").write_text("points = []\ninit, log = lambda project: None, points.append\n", "utf-8")
    short = '{**recipes.data("guess-easy"), "updates": 1, "episodes": 8}'
    yield lambda text: text.replace('recipes.data("guess-easy")', short).replace('"runs/guess"', '"runs/tracked"')
    del sys.modules["trackio"]


@contextmanager
def _terminal(folder: Path, names: dict[str, Any]) -> Iterator[Substitute]:
    """The names of the file that the page's task would stand in."""
    if obstacle := gem.spec("terminal:Shell-v0").unavailable_reason():
        pytest.skip(obstacle)
    names.update(vars(easy))
    yield lambda text: text


@contextmanager
def _agents(folder: Path, names: dict[str, Any]) -> Iterator[Substitute]:
    """A server, at another address than Ollama's."""
    with model_server() as server:
        yield lambda text: text.replace(OLLAMA, server.url).replace(QWEN, "bisect").replace("range(20)", "range(2)")


@contextmanager
def _sandbox(folder: Path, names: dict[str, Any]) -> Iterator[Substitute]:
    if gem.sandbox.level() == "disabled":
        pytest.skip("code cannot be confined on this machine")
    yield lambda text: text


PREPARED = {
    "docs/agents.md": _agents,
    "docs/datasets.md": _datasets,
    "docs/sandbox.md": _sandbox,
    "docs/terminal.md": _terminal,
    "docs/training.md": _training,
}
"""What a page takes for granted, made before its blocks run."""


def _expect_datasets(names: dict[str, Any]) -> None:
    with pytest.raises(DataUnavailable):
        names["hub"]()
    assert gem.make("math:Mine-v0").reset(seed=0)[0] == "1 + 1?"


def _expect_sandbox(names: dict[str, Any]) -> None:
    result = names["result"]
    assert (result.status, result.stdout) == ("ok", "hello\n")


def _expect_task(names: dict[str, Any]) -> None:
    assert names["terminated"]
    assert "reverse-lines" in TASKS


def _expect_training(names: dict[str, Any]) -> None:
    assert [point["update"] for point in names["trackio"].points] == [1]
    assert names["agent"].name


EXPECTED: dict[str, Callable[[dict[str, Any]], None]] = {
    "docs/datasets.md": _expect_datasets,
    "docs/sandbox.md": _expect_sandbox,
    "docs/terminal.md": _expect_task,
    "docs/training-sets.md": lambda names: names["vector"].reset()[0],
    "docs/training.md": _expect_training,
}

# ------------------------------------------------------------------ JSON, TOML, commands


def test_every_block_of_data_can_be_read() -> None:
    read = [json.loads(found.text) for found in blocks("json")] + [
        tomllib.loads(found.text) for found in blocks("toml")
    ]
    assert all(read)
    assert len(read) >= 3


def _beginning(line: str, table: dict[str, str]) -> bool:
    return any(f"{line} ".startswith(beginning) for beginning in table)


TO_RUN = list(dict.fromkeys(line for _, line in commands() if not _beginning(line, {**NOT_HERE, **ONLY_READ})))


def test_no_reason_is_left_of_a_command_that_is_gone() -> None:
    lines = [line for _, line in commands()]
    for beginning in (*NOT_HERE, *ONLY_READ):
        assert any(f"{line} ".startswith(beginning) for line in lines), beginning


def test_the_options_of_commands_that_are_not_carried_out_are_read(folder: Path) -> None:
    _run_folder(folder)
    (folder / "spec.json").write_text(json.dumps({"env_id": "game:Wordle-v0-easy"}), "utf-8")
    for line in [line for _, line in commands() if _beginning(line, ONLY_READ)]:
        program, *words = shlex.split(line)
        if program == "gemweb":
            assert gemweb_parser().parse_args(words), line
            continue
        arguments = training._parser().parse_args(words[2:])
        assert arguments.list or training._requested_spec(arguments), line


@pytest.fixture
def presumed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Substitute]:
    """Files that commands name, a server in Ollama's place, somebody who leaves every game, and trainings of little."""
    (folder / "coin_row.py").write_text(block("python", "class CoinRow"), "utf-8")
    (folder / "sort_letters.py").write_text(block("python", "class SortLetters"), "utf-8")
    (folder / "spec.json").write_text(*[text for *_, text in blocks("json") if '"agents": [' in text], "utf-8")
    (folder / "mine.json").write_text(*[text for *_, text in blocks("json") if '"hidden_seeds"' in text], "utf-8")
    (folder / "discounts.json").write_text(*[text for *_, text in blocks("json") if '"Discounts in' in text], "utf-8")
    rows = [{"title": name, "text": f"{name} is the capital of Japan."} for name in ("Tokyo", "Kyoto")]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    record = next(rollout(make_agent("random"), [EpisodeRequest(0, "game:Wordle-v0-easy", seed=1)]))
    played = {"minesweeper.jsonl": "random", "episode-abcd.json": "random"}
    for name, agent in {**played, "random.jsonl": "random", "expert.jsonl": "expert"}.items():
        (folder / name).write_text(episode_files.episode_line(record, agent), "utf-8")
    _run_folder(folder)
    monkeypatch.setattr("sys.stdin", io.StringIO("?\nhint\nquit\n"))
    monkeypatch.setattr(brief, "HELD_OUT", 4)
    monkeypatch.setattr(brief, "SETTINGS", {**brief.SETTINGS, "episodes": 8})
    with model_server() as server:
        yield lambda line: line.replace(OLLAMA, server.url).replace(QWEN, "bisect")


@pytest.mark.parametrize("line", TO_RUN)
def test_a_command_runs(line: str, presumed: Substitute, capsys: pytest.CaptureFixture[str]) -> None:
    for number, smaller in SHORTER:
        line = line.replace(number, smaller)
    program, *words = shlex.split(presumed(line))
    if program == "python":
        option, source = words
        assert option == "-c"
        exec(source, {})
        return
    if "policy" in words or "--train" in words:
        pytest.importorskip("torch", reason="training is not installed")
    assert program == "gemweb", f"say here how this is run, or why not: {line}"
    if words[:2] == ["check", "game:CoinRow-v0"]:
        words += ["--module", "coin_row"]  # instead of a package that is installed
    if words[:2] == ["submit", "spec.json"] and "--print" not in words:
        words.append("--print")  # instead of a server
    if words[:2] == ["index", "search"]:
        gemweb(["index", "build", "corpus.jsonl", "--name", "wiki"])
    code = gemweb(words)
    out, err = capsys.readouterr()
    assert code == 0 or (words == ["sandbox"] and gem.sandbox.level() == "disabled"), err
    assert out


def _run_folder(folder: Path) -> None:
    """A training in `runs/guess` whose newest checkpoint is nano-base."""
    run = RunFolder(folder / "runs/guess")
    run.begin(read_spec({"env_id": "game:GuessTheNumber-v0-easy"}))
    (run.path / "checkpoints").mkdir(exist_ok=True)
    os.symlink(NANO, run.path / "checkpoints/000100")
