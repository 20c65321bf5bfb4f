"""Install the packages for training into .venv: `python -m gemweb.local.training`. `make up` runs it too.

torch has a CPU build and a CUDA build with gigabytes of libraries. If there is an NVIDIA driver, the CUDA build is
installed. On other Linux machines it is the CPU build, from the index that pip is configured to use or else from the
index of PyTorch. This module uses pip and not uv, because pip reads the configuration of the machine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Literal

from gemweb.local.config import ROOT

LOCK = ROOT / "requirements-training.lock"
CPU_INDEX = "https://download.pytorch.org/whl/cpu"
DRIVER = Path("/proc/driver/nvidia/version")
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([A-Za-z0-9.+!_-]+)", re.MULTILINE)
State = Literal["installing", "installed", "failed"]


class NotInstalled(Exception):
    """The packages could not be installed; the message says why."""


def pinned() -> dict[str, str]:
    """The versions of the packages in the lock file."""
    return dict(PINNED.findall(LOCK.read_text(encoding="utf-8")))


def is_installed() -> bool:
    """Whether every package of the lock file is installed in its version; the build does not matter."""
    for name, version in pinned().items():
        try:
            installed = metadata.version(name)
        except metadata.PackageNotFoundError:
            return False
        if installed.partition("+")[0] != version:
            return False
    return True


def install() -> None:
    """Install the packages of the lock file.

    Raises:
        NotInstalled: if one of them cannot be installed.
    """
    pip = _pip()
    _run(pip, list(_torch(pip, pinned()["torch"])), "torch could not be installed")
    others = [f"{name}=={version}" for name, version in pinned().items() if name != "torch"]
    _run(pip, ["--no-deps", *others], "The packages of requirements-training.lock could not be installed")


def _torch(pip: list[str], version: str) -> Iterator[str]:
    """The arguments with which pip installs the build of torch for this machine."""
    if sys.platform != "linux":
        yield from ("--no-deps", f"torch=={version}")  # there is only one build
    elif has_driver():
        yield f"torch=={version}"  # with the CUDA libraries, which depend on the build
    else:
        yield from ("--no-deps", f"torch=={version}+cpu")
        if not _offers(pip, f"torch=={version}+cpu"):
            yield from ("--extra-index-url", CPU_INDEX)


def has_driver() -> bool:
    """Whether there is an NVIDIA driver."""
    return DRIVER.exists() or shutil.which("nvidia-smi") is not None


def _offers(pip: list[str], requirement: str) -> bool:
    """Whether pip finds a package in its configured index; nothing is installed."""
    command = [*pip, "install", "--dry-run", "--quiet", "--no-deps", "--ignore-installed", requirement]
    return subprocess.run(command, check=False, capture_output=True).returncode == 0


def _pip() -> list[str]:
    """A pip command that installs into this environment: its own pip, that of the base Python, or a new one."""
    version = f"python{sysconfig.get_python_version()}"
    for python in (sys.executable, str(Path(sys.base_prefix) / "bin" / version)):
        probe = [python, "-m", "pip", "--version"]
        try:
            if subprocess.run(probe, check=False, capture_output=True).returncode == 0:
                return [python, "-m", "pip", "--python", sys.executable, "--disable-pip-version-check", "--no-input"]
        except OSError:
            continue
    ensured = subprocess.run([sys.executable, "-m", "ensurepip"], check=False, capture_output=True)
    if ensured.returncode:
        raise NotInstalled("This Python has neither pip nor ensurepip (on Debian: apt-get install python3-venv).")
    return [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]


def _run(pip: list[str], arguments: list[str], failure: str) -> None:
    environment = dict(os.environ, PIP_USER="0", PIP_ROOT_USER_ACTION="ignore")
    command = [*pip, "install", "--quiet", *arguments]
    result = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=ROOT)
    if result.returncode:
        lines = [line for line in (result.stderr or result.stdout).strip().splitlines() if line.strip()]
        errors = [line for line in lines if line.startswith("ERROR")] or lines or ["pip gave no error message"]
        raise NotInstalled(f"{failure}: {errors[-1].removeprefix('ERROR: ')}")


def tell(state: State, reason: str = "", env: Mapping[str, str] = os.environ) -> None:
    """Write the state of the installation to the folder of the stack, if there is one, for the training form."""
    folder = env.get("STATE_DIR")
    if folder and Path(folder).is_dir():
        draft = Path(folder) / ".training.json.new"
        draft.write_text(json.dumps({"state": state, "reason": reason}))
        draft.replace(Path(folder) / "training.json")


def main() -> int:
    """Install the packages unless they are installed. Returns 1 after printing a sentence if this fails."""
    if is_installed():
        tell("installed")
        return 0
    tell("installing")
    sys.stdout.write("installing torch and the other packages for training (a few minutes the first time)\n")
    sys.stdout.flush()
    try:
        install()
    except NotInstalled as error:
        tell("failed", str(error))
        sys.stderr.write(f"Training is not available: {error} Everything else works.\n")
        return 1
    tell("installed")
    sys.stdout.write("torch is installed: trainings can begin\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
