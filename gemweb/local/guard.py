"""The guard: a small process that ends the services of a supervisor that was killed.

It reads orders from a pipe, and only the supervisor holds the other end. When the supervisor ends in any way, the
pipe closes, and the guard ends every process group that it watches: first with a polite signal, then with a hard
one. This works without the parent-death signal of the kernel, and also for grandchildren.

Run as a script, this module imports only the standard library, so the guard is ready before the other processes.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

GRACE_SECONDS = 1.0
"""Seconds that a process group may take to end before it is killed."""


class GuardProcess:
    """The interface of the supervisor to its guard process."""

    def __init__(self, keep_open: tuple[int, ...] = ()) -> None:
        """Start the guard. It keeps the file descriptors `keep_open`, so a lock on one of them lasts until it ends."""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            pass_fds=keep_open,
            start_new_session=True,
        )

    def watch(self, pid: int, polite: int, hard: int = signal.SIGKILL) -> None:
        """End the process group `pid` when the supervisor ends: with the signal `polite`, later with `hard`."""
        self._order(f"watch {pid} {int(polite)} {int(hard)}")

    def forget(self, pid: int) -> None:
        """Stop watching the process group `pid`, which has ended."""
        self._order(f"forget {pid}")

    def remove(self, folder: Path) -> None:
        """Delete `folder` after all process groups have ended."""
        self._order(f"remove {folder}")

    def dismiss(self) -> None:
        """Close the pipe and wait until the guard has finished."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process.wait()

    def _order(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # the stack keeps running if the guard is killed
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _signal_all(groups: dict[int, int]) -> None:
    for group, number in groups.items():
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)


def _wait(groups: dict[int, int], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(map(_alive, groups)):
        time.sleep(0.02)


def main() -> None:
    """Read orders until the pipe closes, then end the remaining process groups."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    polite: dict[int, int] = {}
    hard: dict[int, int] = {}
    folders: list[str] = []
    for line in sys.stdin:
        verb, _, rest = line.rstrip("\n").partition(" ")
        if verb == "watch":
            group, soft_signal, hard_signal = map(int, rest.split())
            polite[group], hard[group] = soft_signal, hard_signal
        elif verb == "forget":
            polite.pop(int(rest), None)
            hard.pop(int(rest), None)
        elif verb == "remove":
            folders.append(rest)
    _signal_all(polite)
    _wait(polite, GRACE_SECONDS)
    _signal_all(hard)
    _wait(hard, 0.3)
    _signal_all(dict.fromkeys(hard, signal.SIGKILL))
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
