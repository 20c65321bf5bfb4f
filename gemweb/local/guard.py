"""The guard: one small process that ends what a killed supervisor leaves behind.

It reads orders from a pipe whose other end only the supervisor holds. When the supervisor goes, in whatever
way, the pipe closes and the guard ends every process group it was told of: politely first, then not. It works
where the kernel has no parent-death signal, and it reaches grandchildren that such a signal does not.

Run as a script it imports nothing but the standard library, so it is up before anything else is started.
"""

import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

PATIENCE_SECONDS = 1.0
"""How long a group may take to end by itself before it is killed."""


class GuardProcess:
    """The supervisor's handle on its guard process."""

    def __init__(self, keep_open: tuple[int, ...] = ()) -> None:
        """Start the guard; it also holds `keep_open`, so a lock on one of them lasts until all is ended."""
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            pass_fds=keep_open,
            start_new_session=True,
        )

    def watch(self, pid: int, polite: int, hard: int = signal.SIGKILL) -> None:
        """End the process group `pid` with `polite`, later with `hard`, should the supervisor go."""
        self._order(f"watch {pid} {int(polite)} {int(hard)}")

    def forget(self, pid: int) -> None:
        """Leave the process group `pid` alone: it has ended."""
        self._order(f"forget {pid}")

    def remove(self, folder: Path) -> None:
        """Delete `folder` when everything has ended."""
        self._order(f"remove {folder}")

    def dismiss(self) -> None:
        """Let go of the guard and wait until it has finished its work."""
        if self._process.stdin is not None:
            with suppress(BrokenPipeError):
                self._process.stdin.close()
        self._process.wait()

    def _order(self, line: str) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # a killed guard must not stop the stack; the death signal remains
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
    """Read orders until the pipe closes, then end what is left."""
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
    _wait(polite, PATIENCE_SECONDS)
    _signal_all(hard)
    _wait(hard, 0.3)
    _signal_all(dict.fromkeys(hard, signal.SIGKILL))
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
