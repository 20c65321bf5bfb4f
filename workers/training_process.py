"""Processes that train: started without addresses and secrets of the site, and ended with time to save."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from django.conf import settings

SAVE_SECONDS = 60.0
"""How long a training may take to save its last checkpoint before it is killed."""
PASSED_VARIABLES = ("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
PASSED_PREFIXES = ("GEM_", "HF_", "CUDA_", "OMP_", "NVIDIA_")
"""The environment variables that a training gets: no addresses and no secrets of the site."""


def start(command: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    """Start a process of our own interpreter. Its output is appended to `log`."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_VARIABLES or name.startswith(PASSED_PREFIXES)
    }
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603 - our own interpreter and module
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, cwd=settings.BASE_DIR
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """Let the process save a checkpoint and end; kill it if it takes too long."""
    if process.poll() is not None:
        return
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(SAVE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def last_line(path: Path) -> str:
    """The last line of a log."""
    try:
        lines = path.read_text("utf-8", errors="replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else "it wrote nothing"
