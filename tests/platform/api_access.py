"""A token for a running stack, and the command line with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.services import INHERITED_BY_TESTS_ONLY, ROOT, Stack


def make_token(stack: Stack, name: str, *options: str) -> str:
    """What `python -m gemweb.local.manage api_token` prints."""
    command = [sys.executable, "-m", "gemweb.local.manage", "api_token", name, *options]
    done = subprocess.run(command, cwd=ROOT, env=environment(stack), check=True, capture_output=True, text=True)
    return done.stdout.strip()


def environment(stack: Stack, token: str = "", config: Path | None = None) -> dict[str, str]:
    """The environment of a program that uses the stack."""
    inherited = {name: value for name, value in os.environ.items() if name not in INHERITED_BY_TESTS_ONLY}
    path = os.pathsep.join([str(Path(sys.executable).parent), inherited.get("PATH", "")])
    modules = os.pathsep.join(filter(None, [str(ROOT), inherited.get("PYTHONPATH", "")]))
    found = {**inherited, "STATE_DIR": str(stack.state_dir), "PYTHONPATH": modules, "PATH": path}
    found |= {"GEMWEB_URL": stack.url, "GEMWEB_TOKEN": token}
    return found if config is None else {**found, "XDG_CONFIG_HOME": str(config)}
