"""Programs that nobody here wrote, each in a virtual environment of its own that stays for the next run.

`python -m tests.installed` makes them all beforehand, as `make test` does, and compiles the packages in .venv.
"""

from __future__ import annotations

import fcntl
import functools
import os
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

PROGRAMS = {
    "mcp-time": ["mcp-server-time==2026.10.19"],
    "mcp-calculator": ["mcp-server-calculator==0.2.0", "mcp<2"],  # a server of the protocol's older generation
    "trackio": ["trackio==0.43.0"],
    "fastmcp": ["fastmcp==4.0.11"],
    "openai": ["openai==3.54.0"],
    "llama": ["xllamacpp==2026.10.11549", "gguf==0.19.0", "safetensors", "numpy"],
}
"""What is installed into each environment."""
LARGE = {
    "gem-llm": ["gem-llm==0.1.0", "datasets==5.2.0", "pandas==3.1.1", "pylatexenc==2.10"],
    "openenv-0.10": ["openenv==0.10.0"],
    "openenv-core-0.2": ["openenv-core==0.2.3"],
    "inspect": ["inspect-ai==0.3.285"],
    "prime-runs": ["prime-runs==0.1.4"],  # what verifiers 0.4 uploads with
    "skyrl-gym": ["skyrl-gym==0.4.0", "pyarrow", "pydantic"],
    "verifiers": ["verifiers==0.2.1"],  # the newest one whose environments are loaded by `load_environment`
}
"""The same, for environments that only long tests need; the first of these makes them."""
INSTALL_SECONDS = 240


@functools.cache
def environment(name: str) -> Path:
    """The folder with the commands of an environment; it is made if it is not there.

    Skips the test with the reason where that cannot be done.
    """
    try:
        return _made(name)
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", "") or str(error)
        pytest.skip(f"{_packages(name)[0]} cannot be installed here: {said.strip()[-300:]}")


def _made(name: str) -> Path:
    """The folder with the commands, after whoever else makes it has finished."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "gemweb-tests" / name
    home.mkdir(parents=True, exist_ok=True)
    with home.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        whole, packages = home / "whole", "\n".join(_packages(name))
        if not whole.exists() or whole.read_text() != packages:  # also after others have been chosen
            _run([sys.executable, "-m", "venv", "--clear", str(home)])
            _run([str(home / "bin" / "pip"), "install", "--quiet", *_packages(name)])
            whole.write_text(packages)
    return home / "bin"


def _packages(name: str) -> list[str]:
    return (PROGRAMS | LARGE)[name]


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, timeout=INSTALL_SECONDS)


def compile_packages() -> None:
    """Compile what is installed here unless it is compiled: pip does so when it installs, uv does not.

    The tests import three quarters of it, each package first in some process that another one waits for.
    """
    packages = Path(sysconfig.get_path("purelib"))
    names = "\n".join(sorted(folder.name for folder in packages.glob("*.dist-info")))
    compiled = Path(sys.prefix, "compiled")
    if not compiled.exists() or compiled.read_text() != names:
        command = [sys.executable, "-W", "ignore", "-m", "compileall", "-qq", "-j", "0", "-x", "/(tests?|locale)/"]
        subprocess.run([*command, str(packages)], check=False)  # it fails where a package has a template for code
        compiled.write_text(names)


def main() -> None:
    """Make them all; the tests of one that cannot be had are skipped, and say why."""
    with ThreadPoolExecutor() as threads:
        compiling = threads.submit(compile_packages)
        for name, made in [(name, threads.submit(_made, name)) for name in PROGRAMS]:
            if made.exception():
                sys.stderr.write(f"{name} could not be installed: its tests will be skipped.\n")
        compiling.result()


if __name__ == "__main__":
    main()
