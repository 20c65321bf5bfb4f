"""Processes that outlive what started them: a search of all processes of this machine, whoever their parent is."""

import contextlib
import os
import time
from pathlib import Path

import psutil

PATIENCE = 20.0


def processes_of(folder: Path) -> list[psutil.Process]:
    """The processes whose command or environment names a folder, besides this one."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = [*process.cmdline(), *process.environ().values()]
            if process.pid != os.getpid() and any(str(folder) in word for word in words):
                found.append(process)
    return found


def wait_until_none_is_left(folder: Path) -> None:
    """Return once no such process is left; kill them and fail if they stay."""
    deadline = time.monotonic() + PATIENCE
    while left := processes_of(folder):
        if time.monotonic() > deadline:
            for process in left:
                process.kill()
            raise AssertionError(left)
        time.sleep(0.02)
