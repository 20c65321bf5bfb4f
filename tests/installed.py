"""Programs that nobody here wrote, each in a virtual environment of its own that stays for the next run."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

INSTALL_SECONDS = 240


@functools.cache
def environment(name: str, *packages: str) -> Path:
    """The folder with the commands of an environment that has these packages; it is made if it is not there.

    Skips the test with the reason where that cannot be done.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gemweb-tests" / name
    whole = home / "whole"
    if not whole.exists():
        try:
            _run([sys.executable, "-m", "venv", "--clear", str(home)])
            _run([str(home / "bin" / "pip"), "install", "--quiet", *packages])
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", "") or str(error)
            pytest.skip(f"{packages[0]} cannot be installed here: {said.strip()[-300:]}")
        whole.touch()
    return home / "bin"


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
