"""Every promise that `gemweb check` tries is kept by our environments; the other files state what it does not try."""

import json
import os
import subprocess
import sys
from pathlib import Path

import gem
from gem.check import PROMISES
from gem.check.promise import Subject
from gem.check.reproducibility import repeats_in_other_processes
from tests.engine import golden, ids

ROOT = Path(__file__).parents[3]


def test_every_promise_is_kept(env_id: str) -> None:
    subject, exact = Subject(env_id), gem.spec(env_id).replay == "exact"
    tried = [promise for promise in PROMISES if exact or not promise.exact]
    assert len(tried) >= 10
    for promise in tried:
        if promise.attempt is not repeats_in_other_processes:  # the next test asks one process for all
            promise.attempt(subject)


def test_another_process_plays_the_same_episodes() -> None:
    """Its sets are in another order; so are those of this process, whose digests the goldens compare besides."""
    environment = {**os.environ, "PYTHONHASHSEED": "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"}
    command = [sys.executable, "-m", "tests.engine.golden", "--print"]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == golden.digests(golden.FEW_SEEDS, ids.kinds())
