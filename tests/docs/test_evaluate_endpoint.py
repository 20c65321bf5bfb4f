"""The example runs, against a real server."""

import os
import subprocess
import sys
from pathlib import Path

from tests.model_server import model_server

ROOT = Path(__file__).parents[2]


def test_the_example_evaluates_a_model() -> None:
    with model_server() as server:
        done = _run(server.url, "--seeds", "3", "--tries", "2", "--env", "game:GuessTheNumber-v0-easy")
    assert not done.returncode, done.stderr
    assert "6 episodes, 0 unanswered" in done.stdout
    assert "pass@2 100.0%" in done.stdout


def test_it_says_at_once_that_no_server_answers() -> None:
    with model_server() as server:
        url = server.url  # nothing listens there once it is closed
    done = _run(url)
    assert (done.returncode, done.stdout) == (1, "")
    assert "No connection to the server" in done.stderr


def _run(url: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "examples/evaluate_endpoint.py", "--url", url, "--model", "bisect", *options]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
