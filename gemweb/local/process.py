"""Starting a process that dies with the supervisor."""

import ctypes
import os
import pwd
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gemweb.local.guard import Guard

PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded before any fork


@dataclass(frozen=True)
class Account:
    """Another user that a process runs as."""

    name: str
    uid: int
    gid: int

    @classmethod
    def named(cls, name: str) -> "Account":
        """Look `name` up among the system's users."""
        entry = pwd.getpwnam(name)
        return cls(name, entry.pw_uid, entry.pw_gid)


@dataclass(frozen=True)
class Signals:
    """How a process is asked to end (`polite`), and made to (`hard`)."""

    polite: int = signal.SIGTERM
    hard: int = signal.SIGKILL


def spawn(
    command: Sequence[str | Path],
    guard: Guard,
    *,
    signals: Signals = Signals(),
    account: Account | None = None,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    stdout: int | None = subprocess.PIPE,
    pass_fds: tuple[int, ...] = (),
) -> subprocess.Popen[bytes]:
    """Start `command` in its own process group, bound to this process's life.

    Call it from the main thread: the kernel's death signal follows the thread that started the child.
    """
    process = subprocess.Popen(  # noqa: S603 - commands are ours, no shell
        list(map(str, command)),
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.STDOUT if stdout is not None else None,
        env=env,
        cwd=cwd,
        pass_fds=pass_fds,
        start_new_session=True,  # Ctrl-C reaches the supervisor only, and the group can be ended as one
        preexec_fn=_die_with(os.getpid(), signals.polite),  # noqa: PLW1509 - one system call, no locks taken
        **_as(account),
    )
    guard.watch(process.pid, signals.polite, signals.hard)
    return process


def run_as(account: Account | None, command: Sequence[str | Path], *, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `command` to its end as `account` and return what it said."""
    return subprocess.run(  # noqa: S603 - commands are ours, no shell
        list(map(str, command)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C"},  # messages are read by us, so they must be in English
        **_as(account),
    )


def bind_to_parent(number: int) -> None:
    """Receive signal `number` when the process that started this one goes (Linux only)."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, number, 0, 0, 0)


def _die_with(parent: int, number: int) -> Callable[[], None]:
    def before_exec() -> None:
        bind_to_parent(number)
        if os.getppid() != parent:  # it went before the call above
            os._exit(1)

    return before_exec


def _as(account: Account | None) -> dict[str, object]:
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}
