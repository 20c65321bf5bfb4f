"""Processes that end with the supervisor, and their last lines of output."""

import ctypes
import os
import pwd
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from gemweb.local.errors import StackError, disk_full
from gemweb.local.guard import GuardProcess

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
        """The account of the system user `name`."""
        entry = pwd.getpwnam(name)
        return cls(name, entry.pw_uid, entry.pw_gid)


@dataclass(frozen=True)
class Service:
    """One process of the stack: its command, its account, and the signals that end it (`polite`, then `hard`)."""

    name: str
    command: Sequence[str | Path]
    env: Mapping[str, str] | None = None
    account: Account | None = None
    cwd: Path | None = None
    pass_fds: tuple[int, ...] = ()
    polite: int = signal.SIGTERM
    hard: int = signal.SIGKILL
    niceness: int = 0
    """How much its processes, such as sandboxes, leave the cores to others (`nice`)."""
    hush: tuple[str, ...] = ()
    """Lines that contain one of these strings are not shown."""


class Running:
    """A started service: its process, and its last lines of output."""

    def __init__(self, service: Service, guard: GuardProcess, echo: Callable[[str, str], None] | None = None) -> None:
        """Start `service` in its own process group; it ends when this process ends.

        Call it from the main thread: the kernel's death signal follows the thread that started the child.
        """
        self.service = service
        self.tail: deque[str] = deque(maxlen=20)
        self._guard = guard
        self._echo = echo
        self.process = self._start()
        guard.watch(self.process.pid, service.polite, service.hard)
        self._pump = threading.Thread(target=self._read, args=(self.process.stdout,), daemon=True)
        self._pump.start()

    def _start(self) -> subprocess.Popen[bytes]:
        service = self.service
        return subprocess.Popen(
            list(map(str, service.command)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=service.env,
            cwd=service.cwd,
            pass_fds=service.pass_fds,
            start_new_session=True,  # Ctrl-C reaches only the supervisor, and signals can be sent to the group
            preexec_fn=_prepare(os.getpid(), service),  # noqa: PLW1509 - two system calls, no locks taken
            **_as(service.account),
        )

    def ended(self) -> bool:
        """Whether the process has ended; if so, the rest of its group is killed."""
        if self.process.poll() is None:
            return False
        self.signal(signal.SIGKILL)
        self._guard.forget(self.process.pid)
        return True

    def signal(self, number: int) -> None:
        """Send `number` to the whole process group."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def last_words(self) -> str:
        """The most informative of its last lines of output."""
        self._pump.join(timeout=0.5)
        errors = [line for line in self.tail if "FATAL" in line or "rror" in line] or list(self.tail)
        return errors[-1] if errors else f"it ended with code {self.process.returncode} and without output"

    def failure(self, place: Path) -> StackError:
        """The error for a service that did not start."""
        words = self.last_words()
        if any("No space left on device" in line for line in self.tail):
            return disk_full(place)
        return StackError(f"{self.service.name} did not start: {words}")

    def _read(self, stream: IO[bytes]) -> None:
        for raw in stream:
            line = raw.decode(errors="replace").rstrip()
            if line and not any(words in line for words in self.service.hush):
                self.tail.append(line)
                if self._echo is not None:
                    self._echo(self.service.name, line)


def run_as(
    account: Account | None, command: Sequence[str | Path], *, cwd: Path, text: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run `command` as `account` with `text` as its input, and return its result."""
    return subprocess.run(
        list(map(str, command)),
        input=text,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
        cwd=cwd,
        env={**os.environ, "LC_ALL": "C"},  # we parse its messages, so they must be in English
        **_as(account),
    )


def server_folder(prefix: str, parent: Path | None = None) -> Path:
    """A new temporary folder that a server of another user can traverse."""
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    folder.chmod(0o711)
    return folder


def bind_to_parent(number: int) -> None:
    """Receive signal `number` when the parent process ends (Linux only)."""
    if _libc is not None:
        _libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)


def _prepare(parent: int, service: Service) -> Callable[[], None]:
    def before_exec() -> None:
        bind_to_parent(service.polite)
        os.nice(service.niceness)
        if os.getppid() != parent:  # the parent ended before the call above
            os._exit(1)

    return before_exec


def _as(account: Account | None) -> dict[str, Any]:
    if account is None:
        return {}
    return {"user": account.uid, "group": account.gid, "extra_groups": []}
