"""The only process of a container that somebody else's sandbox confines: it takes one job and ends with it.

It waits with its libraries imported, so that a job finds it warm. Standard input brings a line of JSON about the job,
then the code, then what the code reads. One byte on standard output says that it is ready, a second one that the code
begins. A program that is joined to another one (`dialogue`) has the streams as its pipes from then on, and standard
error for what it writes to its standard output. Inside the container it limits itself as in the other levels; what is
not possible there ends it before the second byte.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import mmap
import os
import resource
import sys
import time
from typing import Any, NoReturn

from .confinement import bounds, kernel, seccomp
from .execution import cases, dialogue, program
from .settings import EXIT_BROKEN

PROGRAMS = {"script": program.script, "cases": cases.run, "ask": dialogue.ask, "answer": dialogue.answer}
JOINED = ("ask", "answer")
READY, BEGINS = b"r", b"b"
OPEN_FILES = 64
STACK_BYTES = 64 << 20


def main() -> NoReturn:
    """Called by the host with the settings as the only argument: `modules`, `preload`, `work`."""
    settings = json.loads(sys.argv[1])
    sys.path[:] = settings["modules"]
    for name in settings["preload"]:
        with contextlib.suppress(Exception):  # whatever a package does at import: the job may stumble over it
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    os.write(1, READY)
    try:
        job = json.loads(_line())
        payload = _read(job["bytes"])
        os.chdir(settings["work"])
        _limit(job)
        os.write(1, BEGINS)
        if job["program"] in JOINED:
            _join(job["program"])
    except BaseException as error:  # noqa: BLE001 (whatever it is, no code may run now)
        os.write(2, f"{type(error).__name__}: {error}".encode())
        os._exit(EXIT_BROKEN)
    try:
        PROGRAMS[job["program"]](payload)
    finally:
        os._exit(EXIT_BROKEN)  # a program of ours ends the process itself, unless the code has broken it


def _join(joined: str) -> None:
    """Make pipes to the other program of the standard streams; what `ask` reports goes to standard error."""
    nothing = os.open("/dev/null", os.O_RDWR)
    for place, stream in ((dialogue.READ, 0), (dialogue.WRITE, 1), (1, 2), (0, nothing)):
        os.dup2(stream, place)
    if joined == "ask":
        os.dup2(nothing, 2)


def _limit(job: dict[str, Any]) -> None:
    size = _address_space()
    os.closerange(3, 1 << 16)
    bounds.limit(resource.RLIMIT_AS, size + job["memory"])
    spent = int(time.process_time() + job["cpu"]) + 1  # what it took to come up counts as well
    resource.setrlimit(resource.RLIMIT_CPU, (spent, spent + 1))  # the first signal says what it is
    bounds.limit(resource.RLIMIT_FSIZE, job["files"])
    bounds.limit(resource.RLIMIT_NOFILE, OPEN_FILES)
    bounds.limit(resource.RLIMIT_STACK, STACK_BYTES)
    bounds.limit(resource.RLIMIT_CORE, 0)
    bounds.limit(resource.RLIMIT_NPROC, job["threads"])
    kernel.keep_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.install(seccomp.build(alone=True))


def _address_space() -> int:
    """Bytes that this process takes: the lowest limit under which it gets another page. There is no /proc to ask."""
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    low, high = 0, 1 << 16
    while high - low > 1:
        middle = (low + high) // 2
        try:
            resource.setrlimit(resource.RLIMIT_AS, (middle << 20, hard))
            mmap.mmap(-1, mmap.PAGESIZE).close()
            high = middle
        except (OSError, MemoryError):
            low = middle
    return high << 20


def _line() -> bytes:
    """Up to the end of the line, a byte at a time: what follows is not ours."""
    found = b""
    while not found.endswith(b"\n"):
        found += _read(1)
    return found


def _read(size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = os.read(0, size - len(found))
        if not more:
            os._exit(0)  # the host wants nothing any more
        found += more
    return found
