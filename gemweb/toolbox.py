"""Environments of their own for tools that the product does not depend on: those of the audit and of the manual."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
from pathlib import Path

from gemweb.bootstrap import SetUpError, find_uv


def program(lock: Path, folder: Path, name: str) -> str:
    """The path of a program, whose environment is installed first if the lock file has changed.

    Args:
        lock: the packages of the environment, with their hashes.
        folder: where the environment is.

    Raises:
        SetUpError: if it cannot be installed; the message is what the installer said.
    """
    digest, stamp = hashlib.sha256(lock.read_bytes()).hexdigest(), folder / "installed"
    if not stamp.exists() or stamp.read_text() != digest:
        uv = find_uv()
        shutil.rmtree(folder, ignore_errors=True)
        _install([uv, "venv", "--quiet", str(folder)])
        python = str(folder / "bin" / "python")
        _install([uv, "pip", "sync", "--quiet", "--require-hashes", "--python", python, str(lock)])
        stamp.write_text(digest)
    return str(folder / "bin" / name)


def _install(command: list[str]) -> None:
    result = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 (our own installer)
    if result.returncode:
        said = result.stderr.strip().splitlines()
        raise SetUpError(said[-1].strip() if said else "nothing")
