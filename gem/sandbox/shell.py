"""A shell in a sandbox: one command at a time, each in a sandbox of its own with a small directory tree.

    result = execute("ls -l", {"a.txt": file("hello")})
    result.output, result.exit_code, result.tree

Between two commands no process runs. The next command inherits the tree, the directory and the exported variables, all
of which are plain data. A command can start programs of the machine. It has no network, sees no files of the host
except its programs, and runs as a user without privileges.

Unlike `gem.sandbox.run`, a shell needs to start programs, so it needs namespaces, and runs at the level `full` only.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem.errors import EnvironmentFailure, SandboxUnavailable
from gem.sandbox import containers, host_view
from gem.sandbox.command import CommandResult, ShellLimits, ShellState
from gem.sandbox.inside.files.tree import Tree
from gem.sandbox.inside.settings import HOME

PACKAGE_FOLDER = str(Path(__file__).parent)
"""The folder that holds the package `inside`."""
COMMAND = "import sys; sys.path.insert(0, sys.argv.pop()); from inside.shell import main; main()"
PROGRAMS = (
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64",
    "/usr/libexec", "/usr/share", "/etc/alternatives", "/etc/ld.so.cache", "/etc/perl",
)  # fmt: skip
"""Paths of the host that a command can see; where a path is a symbolic link, the sandbox has the link as well."""
PYTHON = "/opt/gem/bin/python3"
"""Where a command finds this interpreter."""
GRACE_SECONDS = 10.0
"""How much longer than its limit a command may take before the sandbox itself is considered stuck."""
EPOCH = 1_767_225_600
"""Modification time of the files in a new tree: the beginning of 2026."""


def file(text: str, mode: int = 0o644, mtime: int = EPOCH) -> list[Any]:
    """An entry of a tree: a file with this content."""
    return ["file", mode, text, mtime]


def folder(mode: int = 0o755, mtime: int = EPOCH) -> list[Any]:
    """An entry of a tree: a directory."""
    return ["folder", mode, "", mtime]


def execute(command: str, tree: Tree, *, shell: ShellState = "", limits: ShellLimits | None = None) -> CommandResult:
    """Run a command of bash with `tree` as its working directory, and return its output and the changed tree.

    This function may be called from many threads and processes at once. Each call starts a process; as many calls run
    at the same time in a process of ours as there are cores, and the others wait.

    Args:
        shell: the state that the previous command left.

    Raises:
        SandboxUnavailable: if this machine cannot confine programs.
        EnvironmentFailure: if the sandbox itself broke; the command may be tried again.
    """
    reason = obstacle()
    if reason:
        raise SandboxUnavailable(reason)
    with _slots:
        return _run(command, tree, shell, limits or ShellLimits())


def _run(command: str, tree: Tree, shell: ShellState, limits: ShellLimits) -> CommandResult:
    """Run a command in a container if an engine was chosen, and in namespaces otherwise."""
    if _engine:
        return containers.execute(_engine, command, tree, shell, limits, _variables())
    return _run_in_namespaces(command, tree, shell, limits)


_slots = threading.BoundedSemaphore(max(2, os.cpu_count() or 2))
_lock = threading.Lock()
_obstacle: str | None = None
_engine = ""
"""The container engine that runs commands; empty where they run in namespaces of our own."""


def obstacle() -> str:
    """Why no command can be run here, with what to do about it; empty if commands can be run.

    The check is made once by each process.
    """
    global _obstacle, _engine  # noqa: PLW0603 (computed once)
    with _lock:
        if _obstacle is None:
            _obstacle = _probe()
            if _obstacle:
                _engine, reason = _probe_containers()
                _obstacle = f"{_obstacle} Nor can a container: {reason}." if reason else ""
        return _obstacle


def confinement() -> str:
    """How commands are confined here, in words; empty if none can be run."""
    if obstacle():
        return ""
    return f"in containers of {os.path.basename(_engine)}" if _engine else "in namespaces"


def confinement_if_known() -> str | None:
    """How commands are confined here; None if `obstacle` has not been called yet, which takes time."""
    return None if _obstacle is None else confinement()


CANARY = """
for path in /etc/shadow /var/log {secret}; do test -r "$path" && echo "reads $path"; done
(echo >/usr/bin/canary) 2>/dev/null && echo "writes to the host's programs"
(exec 3<>/dev/tcp/127.0.0.1/22) 2>/dev/null && echo "has a network"
test "$(id -u)" = 0 && echo "is root"
unshare -Ur true 2>/dev/null && echo "makes namespaces"
echo kept >mine; cat mine
"""


def _probe() -> str:
    """Run a command that tries to escape from a sandbox; why no command can be run, or an empty string."""
    if sys.platform != "linux":
        return f"Commands of a shell are run on Linux only; this is {sys.platform}."
    if not os.path.exists("/bin/bash"):
        return "Commands need bash at /bin/bash, which is not there. Install it."
    if f"{os.path.realpath(sys.base_prefix)}/".startswith(f"{HOME}/"):
        return f"Commands would see Python, which is installed below {HOME}, among their files. Install it elsewhere."
    try:
        with tempfile.NamedTemporaryFile(prefix="gem-canary-") as secret:
            result = _run_in_namespaces(CANARY.replace("{secret}", secret.name), {}, "", ShellLimits())
    except (EnvironmentFailure, LookupError, OSError) as error:
        return (
            f"This machine cannot confine the commands of a shell, so none is run ({error}). They need user "
            "namespaces, or gemweb has to run as root: docs/terminal.md says what helps."
        )
    if result.output != "kept\n":
        return f"The sandbox of this machine does not hold, so no command is run: it {result.output.strip()}."
    return ""


def _probe_containers() -> tuple[str, str]:
    """The engine whose containers confine a command, and why there is none; one of the two is empty."""
    try:
        engine = containers.find_engine()
        result = containers.execute(engine, containers.CANARY, {}, "", ShellLimits(), _variables())
    except (containers.NoContainerEngine, EnvironmentFailure) as error:
        return "", str(error)
    if result.output != "kept\n" or result.tree is None or "mine" not in result.tree:
        return "", f"it does not hold: it {result.output.strip()}"
    return engine, ""


def _run_in_namespaces(command: str, tree: Tree, shell: ShellState, limits: ShellLimits) -> CommandResult:
    user = host_view.random_user()
    owner = os.geteuid() if user is None else user
    job = {
        "command": command,
        "tree": tree,
        "shell": shell,
        "user": user,
        "readable": _readable_paths(),
        "links": [[PYTHON, os.path.realpath(sys.executable)]],
        "files": _system_files(owner),
        "variables": _variables(),
        "time": EPOCH,
        "seconds": limits.seconds,
        "memory_bytes": limits.memory_bytes,
        "processes": limits.processes,
        "output_bytes": limits.output_bytes,
        "disk_bytes": limits.disk_bytes,
        "tree_bytes": limits.tree_bytes,
        "tree_entries": limits.tree_entries,
    }
    answer = _start_sandbox(json.dumps(job).encode(), limits.seconds + GRACE_SECONDS)
    return CommandResult(
        answer["status"], answer["output"], answer["code"], answer["tree"], answer["shell"], answer["excess"]
    )


def _start_sandbox(job: bytes, timeout_seconds: float) -> dict[str, Any]:
    """Start a sandbox, pass it the job, and read its answer.

    Raises:
        EnvironmentFailure: if it does not answer.
    """
    process = subprocess.Popen(  # noqa: S603 (our own interpreter and program)
        [sys.executable, "-S", "-s", "-P", "-B", "-X", "utf8", "-c", COMMAND, PACKAGE_FOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        cwd="/",
        start_new_session=True,  # so that Ctrl-C does not reach it
    )
    try:
        output, error_output = process.communicate(job, timeout=timeout_seconds)
    except subprocess.TimeoutExpired as error:
        raise EnvironmentFailure("the sandbox did not answer in time") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    if process.returncode != 0 or not output:
        lines = error_output.decode(errors="replace").strip().splitlines()
        raise EnvironmentFailure(lines[-1] if lines else "the sandbox ended without saying why")
    answer: dict[str, Any] = json.loads(output)
    return answer


def _readable_paths() -> list[str]:
    """The system's programs, and the interpreter if it is installed elsewhere."""
    paths = [path for path in PROGRAMS if os.path.lexists(path)]
    real_paths = [os.path.realpath(path) for path in paths]
    libraries = [path for path in host_view.loaded_libraries() if "site-packages" not in path]
    for path in map(os.path.realpath, [sys.base_prefix, *libraries]):
        if path != "/usr" and not any(path == folder or path.startswith(f"{folder}/") for folder in real_paths):
            paths.append(path)
            real_paths.append(path)
    return paths


def _system_files(user: int) -> Mapping[str, str]:
    """Small files that programs expect: content by path."""
    users = f"root:x:0:0:root:/root:/bin/false\nagent:x:{user}:{user}:agent:{HOME}:/bin/bash\n"
    return {
        "/etc/passwd": users,
        "/etc/group": f"root:x:0:\nagent:x:{user}:\n",
        "/etc/hosts": "127.0.0.1 localhost\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }


def _variables() -> Mapping[str, str]:
    """The environment variables of a command."""
    return {
        "HOME": HOME,
        "USER": "agent",
        "PATH": f"{os.path.dirname(PYTHON)}:/usr/bin:/bin:/usr/sbin:/sbin",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "xterm-256color",
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
