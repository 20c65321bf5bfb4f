"""`gemweb check` on what others made: OpenEnv's own server, and verifiers, from the package index and unmodified."""

from __future__ import annotations

import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.engine.cli.conftest import Run
from tests.installed import environment

ROOT = Path(__file__).parents[3]
BROKEN = """
import random
import verifiers as vf
from datasets import Dataset


def load_environment():
    rows = [{"question": f"What is {n} + {n}?", "answer": str(2 * n)} for n in range(8)]
    random.shuffle(rows)

    def exact(completion, answer, **_):
        return float(int(completion[-1]["content"]) == int(answer))

    def lucky(completion, **_):
        return 2.0 if completion[-1]["content"] == "..." else random.random()

    return vf.SingleTurnEnv(dataset=Dataset.from_list(rows), rubric=vf.Rubric(funcs=[exact, lucky]))
"""
pytestmark = pytest.mark.long


@contextmanager
def openenv_server() -> Iterator[str]:
    """OpenEnv's own server with Guess The Number behind it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(environment("openenv-0.10") / "python"), "-m", "bench.interop.openenv_server", str(port), "4"]
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen(command, cwd=ROOT) as process:
        try:
            while not is_there(url):
                assert process.poll() is None
            yield url
        finally:
            process.kill()


def is_there(url: str) -> bool:
    """Whether a server answers."""
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=60):
            return True
    except urllib.error.URLError:
        return False


def test_openenvs_own_server_keeps_its_promises_and_can_be_learned(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEM_OPENENV_ADDRESSES", raising=False)
    with openenv_server() as url:
        code, out, _ = run("check", url)
        assert (code, "WRONG" in out) == (0, False), out
        code, out, _ = run("learnable", url, "--seeds", "20", "--tries", "3")
    assert code == 0, out
    assert "Has a signal." in out


def test_an_environment_of_verifiers_keeps_its_promises(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{ROOT / 'examples'}")
    python = environment("verifiers") / "python"
    code, out, err = run("check", "verifiers:verifiers-env", "--python", str(python))
    assert (code, err) == (0, ""), out
    assert out.startswith("verifiers-env of verifiers 0.2.1, ")


def test_what_is_broken_in_one_of_verifiers_is_named(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_env.py").write_text(BROKEN)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    code, out, _ = run("check", "verifiers:broken-env", "--python", str(environment("verifiers") / "python"))
    assert code == 1
    wrong = [line.removeprefix("WRONG").strip() for line in out.splitlines() if line.startswith("WRONG")]
    assert wrong == [
        "It has the same rows whenever it is loaded.",
        "Its reward functions raise no errors.",
        "The same answer earns the same.",
        "Saying nothing earns no more than the right answer.",
    ]
