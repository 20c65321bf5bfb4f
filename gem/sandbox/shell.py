"""A shell in a sandbox: one command at a time, each in a place of its own that is made from a small directory tree.

    done = execute("ls -l", {"a.txt": file("hello")})
    done.output, done.exit_code, done.tree

Between two commands nothing runs. What goes on from one to the next is the tree, the directory and the exported
variables, all of it plain data. Programs of the machine can be started; there is no network, no file of the host but
its programs, and no other user than one without rights.

Unlike `gem.sandbox.run` a shell needs to start programs, so it needs namespaces, and runs at the level `full` only.
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
from gem.sandbox import containers, layout
from gem.sandbox.command import CommandResult, Shell, ShellLimits
from gem.sandbox.inside.settings import HOME
from gem.sandbox.inside.tree import Tree

HERE = str(Path(__file__).parent)
COMMAND = "import sys; sys.path.insert(0, sys.argv.pop()); from inside.shell import main; main()"
PROGRAMS = (
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr/bin", "/usr/sbin", "/usr/lib", "/usr/lib32", "/usr/lib64",
    "/usr/libexec", "/usr/share", "/etc/alternatives", "/etc/ld.so.cache", "/etc/perl",
)  # fmt: skip
"""What of the host can be seen; where they are links, the links are kept."""
PYTHON = "/opt/gem/bin/python3"
GRACE_SECONDS = 10.0
"""How much longer than its limit a command may take before the sandbox itself is thought to be stuck."""
EPOCH = 1_767_225_600
"""What files of a fresh tree say they were changed: the beginning of 2026."""


def file(text: str, mode: int = 0o644, when: int = EPOCH) -> list[Any]:
    """An entry of a tree: a file with this content."""
    return ["file", mode, text, when]


def folder(mode: int = 0o755, when: int = EPOCH) -> list[Any]:
    """An entry of a tree: a directory."""
    return ["folder", mode, "", when]


def execute(command: str, tree: Tree, *, shell: Shell = "", limits: ShellLimits | None = None) -> CommandResult:
    """Run a command of bash in a place that holds `tree` as its working directory, and see what it leaves.

    It may be called from many threads and processes at once. Each call starts a process of its own; a process of ours
    has as many at a time as there are cores, and the others wait.

    Raises:
        SandboxUnavailable: if this machine cannot confine programs.
        EnvironmentFailure: if the sandbox itself broke; the command may be tried again.
    """
    reason = obstacle()
    if reason:
        raise SandboxUnavailable(reason)
    with _slots:
        return _run(command, tree, shell, limits or ShellLimits())


def _run(command: str, tree: Tree, shell: Shell, limits: ShellLimits) -> CommandResult:
    """In a container where one was chosen, else in namespaces."""
    if _engine:
        return containers.execute(_engine, command, tree, shell, limits, _variables())
    return _execute(command, tree, shell, limits)


_slots = threading.BoundedSemaphore(max(2, os.cpu_count() or 2))
_lock = threading.Lock()
_obstacle: str | None = None
_engine = ""
"""The container engine that commands run in; empty: in namespaces of our own."""


def obstacle() -> str:
    """Why no command can be run here, with what to do; empty if it can. Tried once by each process."""
    global _obstacle, _engine  # noqa: PLW0603 (a once-only answer)
    with _lock:
        if _obstacle is None:
            _obstacle = _probe()
            if _obstacle:
                _engine, without = _probe_containers()
                _obstacle = f"{_obstacle} Nor can a container: {without}." if without else ""
        return _obstacle


def confinement() -> str:
    """How commands are confined here, in words; empty where none is run."""
    if obstacle():
        return ""
    return f"in containers of {os.path.basename(_engine)}" if _engine else "in namespaces"


def confinement_if_known() -> str | None:
    """As `confinement`, without trying anything: None where nobody has asked yet."""
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
    """Try to get out of a sandbox in the ways that it closes."""
    if sys.platform != "linux":
        return f"Commands of a shell are run on Linux only; this is {sys.platform}."
    if not os.path.exists("/bin/bash"):
        return "Commands need bash at /bin/bash, which is not there. Install it."
    if f"{os.path.realpath(sys.base_prefix)}/".startswith(f"{HOME}/"):
        return f"Commands would see Python, which is installed below {HOME}, among their files. Install it elsewhere."
    try:
        with tempfile.NamedTemporaryFile(prefix="gem-canary-") as secret:
            done = _execute(CANARY.replace("{secret}", secret.name), {}, "", ShellLimits())
    except (EnvironmentFailure, LookupError, OSError) as error:
        return (
            f"This machine cannot confine the commands of a shell, so none is run ({error}). They need user "
            "namespaces, or gemweb has to run as root: docs/terminal.md says what helps."
        )
    if done.output != "kept\n":
        return f"The sandbox of this machine does not hold, so no command is run: it {done.output.strip()}."
    return ""


def _probe_containers() -> tuple[str, str]:
    """The engine that holds, or why there is none."""
    try:
        engine = containers.find_engine()
        done = containers.execute(engine, containers.CANARY, {}, "", ShellLimits(), _variables())
    except (containers.Missing, EnvironmentFailure) as error:
        return "", str(error)
    if done.output != "kept\n" or done.tree is None or "mine" not in done.tree:
        return "", f"it does not hold: it {done.output.strip()}"
    return engine, ""


def _execute(command: str, tree: Tree, shell: Shell, limits: ShellLimits) -> CommandResult:
    user = layout.user()
    owner = os.geteuid() if user is None else user
    job = {
        "command": command,
        "tree": tree,
        "shell": shell,
        "user": user,
        "readable": _readable(),
        "links": [[PYTHON, os.path.realpath(sys.executable)]],
        "files": _files(owner),
        "variables": _variables(),
        "seconds": limits.seconds,
        "memory_bytes": limits.memory_bytes,
        "processes": limits.processes,
        "output_bytes": limits.output_bytes,
        "disk_bytes": limits.disk_bytes,
        "kept_bytes": limits.kept_bytes,
        "kept_entries": limits.kept_entries,
    }
    answer = _ask(json.dumps(job).encode(), limits.seconds + GRACE_SECONDS)
    return CommandResult(
        answer["status"], answer["output"], answer["code"], answer["tree"], answer["shell"], answer["said"]
    )


def _ask(job: bytes, seconds: float) -> dict[str, Any]:
    """Start the sandbox, hand it the job, and read its answer."""
    process = subprocess.Popen(  # noqa: S603 (our own interpreter and program)
        [sys.executable, "-S", "-s", "-P", "-B", "-X", "utf8", "-c", COMMAND, HERE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        cwd="/",
        start_new_session=True,  # Ctrl-C is for us
    )
    try:
        said, complaint = process.communicate(job, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        raise EnvironmentFailure("the sandbox did not answer in time") from error
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
    if process.returncode != 0 or not said:
        lines = complaint.decode(errors="replace").strip().splitlines()
        raise EnvironmentFailure(lines[-1] if lines else "the sandbox ended without saying why")
    answer: dict[str, Any] = json.loads(said)
    return answer


def _readable() -> list[str]:
    """The system's programs, and the interpreter if it is installed elsewhere."""
    wanted = [path for path in PROGRAMS if os.path.lexists(path)]
    real = [os.path.realpath(path) for path in wanted]
    libraries = [path for path in layout.loaded_libraries() if "site-packages" not in path]
    for path in map(os.path.realpath, [sys.base_prefix, *libraries]):
        if path != "/usr" and not any(path == one or path.startswith(f"{one}/") for one in real):
            wanted.append(path)
            real.append(path)
    return wanted


def _files(user: int) -> Mapping[str, str]:
    """Small files that programs look for."""
    people = f"root:x:0:0:root:/root:/bin/false\nagent:x:{user}:{user}:agent:{HOME}:/bin/bash\n"
    return {
        "/etc/passwd": people,
        "/etc/group": f"root:x:0:\nagent:x:{user}:\n",
        "/etc/hosts": "127.0.0.1 localhost\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }


def _variables() -> Mapping[str, str]:
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
