"""Asking GEM in its own virtual environment (see `bench/tools/_gem_code.py`)."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

SIDE = Path(__file__).with_name("_gem_code.py")


def ask(python: Path, verb: str, **arguments: Any) -> dict[str, Any]:
    """What GEM's side answers. GEM starts the first `python` of the path, and makes folders where it is."""
    environment = {**os.environ, "PATH": f"{python.parent}:{os.environ['PATH']}"}
    environment.pop("PYTHONPATH", None)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [str(python), "-P", str(SIDE)],
            input=json.dumps({"verb": verb, **arguments}),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            cwd=folder,
            env=environment,
        )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer
