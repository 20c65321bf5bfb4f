"""The example runs, against a real server."""

import os
import subprocess
import sys
from pathlib import Path

from tests.model_server import model_server

ROOT = Path(__file__).parents[2]


def test_the_example_evaluates_a_model() -> None:
    with model_server() as server:
        command = ["examples/evaluate_endpoint.py", "--url", server.url, "--model", "bisect", "--seeds", "3"]
        command += ["--tries", "2", "--env", "game:GuessTheNumber-v0-easy"]
        env = {**os.environ, "PYTHONPATH": str(ROOT)}
        done = subprocess.run([sys.executable, *command], cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    assert "6 episodes, 0 unanswered" in done.stdout
    assert "pass@2 100.0%" in done.stdout
