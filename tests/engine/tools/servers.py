"""MCP servers for the tests: two that nobody here wrote, in virtual environments of their own, and a bad one."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGES = {
    "time": ["mcp-server-time==2026.10.19"],
    "calculator": ["mcp-server-calculator==0.2.0", "mcp<2"],  # a server of the protocol's older generation
}
INSTALL_SECONDS = 240

BAD_SERVER = Path(__file__).with_name("bad_server.py")


@functools.cache
def installed(name: str) -> Path:
    """The command of a server; it is installed first if it is not there.

    Skips the test with the reason where that cannot be done.
    """
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gemweb-tests" / f"mcp-{name}"
    command = home / "bin" / f"mcp-server-{name}"
    if not command.exists():
        try:
            _run([sys.executable, "-m", "venv", "--clear", str(home)])
            _run([str(home / "bin" / "pip"), "install", "--quiet", *PACKAGES[name]])
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", "") or str(error)
            pytest.skip(f"{PACKAGES[name][0]} cannot be installed here: {said.strip()[-300:]}")
    return command


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)
