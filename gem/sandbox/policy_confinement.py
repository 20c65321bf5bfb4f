"""Starts our own modules that load the policies of other people: without a network, reading only what they need.

    start = command("gem.training.checkpoints.first_turn", [str(folder)], [folder], PolicyLimits())
    subprocess.Popen(start.argv, env=start.env, stdout=PIPE)

A policy's files hold no programs, but the libraries that read them are large, and a flaw in one of them would run
what a file says. So the process gets the confinement of MCP servers (`process_confinement`). Where the machine has no
namespaces, for example in most containers, it confines itself with Landlock and a list of system calls before it
imports those libraries (`landlocked`). Where there is neither, it is not started, unless `UNCONFINED_VARIABLE` is set.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gem.errors import SandboxUnavailable
from gem.sandbox import host_view, process_confinement
from gem.sandbox.inside.confinement import landlock
from gem.sandbox.inside.server import EXIT_MEMORY
from gem.sandbox.process_confinement import MEBIBYTE, Confinement, StartCommand

UNCONFINED_VARIABLE = "GEM_UNCONFINED_POLICIES"
"""Environment variable; `1` allows uploaded policies to run unconfined on a machine that cannot confine them."""
ENGINE_FOLDER = Path(__file__).parents[1]
VARIABLES = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "PYTHONHASHSEED": "0",
    "PYTHONUTF8": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
"""Environment variables of every such process."""
INHERITED = ("PATH", "LANG", "TMPDIR", "LD_LIBRARY_PATH")
"""Variables that a process without namespaces has from ours."""


@dataclass(frozen=True, slots=True)
class PolicyLimits:
    """What a process with somebody else's policy may use."""

    memory_bytes: int
    """Memory of the process."""
    cpu_seconds: int
    """CPU time, after which it is ended."""
    threads: int = 64
    """Processes and threads, where there are namespaces. Landlock does not limit them: the kernel counts them by user,
    and there the process keeps ours. It can start threads only, within its memory."""


def command(
    module: str,
    args: Sequence[str],
    readable: Sequence[Path],
    limits: PolicyLimits,
    variables: Mapping[str, str] | None = None,
) -> StartCommand:
    """The command that runs a module of the engine with the policies of other people.

    Args:
        readable: files and folders that it may read, besides the engine and its libraries.
        variables: further environment variables.

    Raises:
        SandboxUnavailable: if this machine cannot confine it.
        InvalidArgument: if something readable is not there.
    """
    environment = {**VARIABLES, "PYTHONPATH": str(ENGINE_FOLDER.parent), **(variables or {})}
    paths = [str(path.resolve()) for path in readable]
    if not process_confinement.obstacle():
        confinement = Confinement(
            read=(*paths, str(ENGINE_FOLDER), *_library_folders()),
            memory_mb=max(1, limits.memory_bytes // MEBIBYTE),
            processes=limits.threads,
            cpu_seconds=limits.cpu_seconds,
        )
        environment |= {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
        return process_confinement.command(sys.executable, ["-m", module, *args], environment, confinement)
    environment |= {name: os.environ[name] for name in INHERITED if name in os.environ}
    if sys.platform == "linux" and landlock.abi() >= landlock.ABI_WITH_TRUNCATE:
        settings = {
            "readable": [*paths, str(ENGINE_FOLDER), sys.prefix, *_library_folders(), *host_view.readable_paths()],
            "memory_bytes": limits.memory_bytes,
            "cpu_seconds": limits.cpu_seconds,
        }
        argv = [sys.executable, "-m", "gem.sandbox.landlocked", json.dumps(settings), module, *args]
        # No program can be started, so none is to be found: with a compiler, ctypes would write a file for it, which
        # fails (that is how the CUDA build of torch looks for its libraries).
        return StartCommand(argv, environment | {"PATH": ""})
    if os.environ.get(UNCONFINED_VARIABLE) == "1":
        return StartCommand([sys.executable, "-m", module, *args], environment)
    raise SandboxUnavailable(
        "This machine cannot confine the policies that people upload, so it runs none of them. docs/sandbox.md says "
        "what helps."
    )


def exit_code(code: int) -> int:
    """How the module ended, by the exit code of the process that `command` started: its exit code or (negative) signal.

    A confined process passes on the signal of the module as 256 less the signal's number.
    """
    if code == EXIT_MEMORY:
        return -signal.SIGKILL
    return code - 256 if 256 - signal.NSIG < code < EXIT_MEMORY else code


def _library_folders() -> list[str]:
    """Folders in which the system looks for libraries besides its own."""
    return [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path and os.path.isdir(path)]
