"""Install what training needs into .venv: `python -m gemweb.local.training`. `make up` does it once the page is served.

torch has a build for CPUs and one that brings gigabytes of CUDA. With an NVIDIA driver the ordinary one is installed.
Elsewhere on Linux it is the one for CPUs: from wherever this machine's pip finds packages if it is there, else from
PyTorch's own index. pip is used rather than uv because it reads this machine's configuration.
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
    """Why not, in a sentence."""


def pinned() -> dict[str, str]:
    """Package to version, as the lock file says."""
    return dict(PINNED.findall(LOCK.read_text(encoding="utf-8")))


def is_installed() -> bool:
    """Whether this Python has every package of the lock file in its version, whatever the build."""
    for name, version in pinned().items():
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            return False
        if found.partition("+")[0] != version:
            return False
    return True


def install() -> None:
    """Install the packages of the lock file.

    Raises:
        NotInstalled: if one of them cannot be had.
    """
    pip = _pip()
    _run(pip, list(_torch(pip, pinned()["torch"])), "torch could not be installed")
    others = [f"{name}=={version}" for name, version in pinned().items() if name != "torch"]
    _run(pip, ["--no-deps", *others], "The packages of requirements-training.lock could not be installed")


def _torch(pip: list[str], version: str) -> Iterator[str]:
    """What to tell pip, so that it installs the build of torch that suits this machine."""
    if sys.platform != "linux":
        yield from ("--no-deps", f"torch=={version}")  # there is one build only
    elif has_driver():
        yield f"torch=={version}"  # with the libraries of CUDA, which depend on the build
    else:
        yield from ("--no-deps", f"torch=={version}+cpu")
        if not _offers(pip, f"torch=={version}+cpu"):
            yield from ("--extra-index-url", CPU_INDEX)


def has_driver() -> bool:
    """Whether there is an NVIDIA driver."""
    return DRIVER.exists() or shutil.which("nvidia-smi") is not None


def _offers(pip: list[str], requirement: str) -> bool:
    """Whether this machine's pip finds a package where it looks by itself; nothing is installed."""
    question = [*pip, "install", "--dry-run", "--quiet", "--no-deps", "--ignore-installed", requirement]
    return subprocess.run(question, check=False, capture_output=True).returncode == 0


def _pip() -> list[str]:
    """A pip that installs into this Python's environment: its own, that of its base, or a new one."""
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


def _run(pip: list[str], what: list[str], failure: str) -> None:
    environment = dict(os.environ, PIP_USER="0", PIP_ROOT_USER_ACTION="ignore")
    command = [*pip, "install", "--quiet", *what]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env=environment, cwd=ROOT)
    if done.returncode:
        said = [line for line in (done.stderr or done.stdout).strip().splitlines() if line.strip()]
        telling = [line for line in said if line.startswith("ERROR")] or said or ["pip said nothing"]
        raise NotInstalled(f"{failure}: {telling[-1].removeprefix('ERROR: ')}")


def tell(state: State, reason: str = "", env: Mapping[str, str] = os.environ) -> None:
    """Write into the stack's folder how it stands, for the training form; without a stack nobody asks."""
    folder = env.get("STATE_DIR")
    if folder and Path(folder).is_dir():
        draft = Path(folder) / ".training.json.new"
        draft.write_text(json.dumps({"state": state, "reason": reason}))
        draft.replace(Path(folder) / "training.json")


def main() -> int:
    """Install unless it is there; 1 with a sentence if it cannot be."""
    if is_installed():
        tell("installed")
        return 0
    tell("installing")
    sys.stdout.write("installing torch and what else training needs (a few minutes the first time)\n")
    sys.stdout.flush()
    try:
        install()
    except NotInstalled as error:
        tell("failed", str(error))
        sys.stderr.write(f"Training is not available: {error} Everything else works.\n")
        return 1
    tell("installed")
    sys.stdout.write("training can begin: torch is installed\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
