"""The only process of a container that another program confines: it runs one job and ends with it.

It imports its libraries in advance, so that a job need not wait for them. Standard input brings a line of JSON about
the job, then the code, then the code's input. One byte on standard output means that the process is ready, a second one
that the code begins. A program that is connected to another one (see `dialogue`) uses the standard streams as its pipes
from then on, and standard error in place of its standard output. The process sets limits for itself as at the other
levels; if it cannot, it ends before the second byte.
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

from .confinement import kernel, limits, seccomp
from .execution import cases, dialogue, program
from .settings import EXIT_BROKEN

PROGRAMS = {"script": program.script, "cases": cases.run, "ask": dialogue.ask, "answer": dialogue.answer}
CONNECTED_PROGRAMS = ("ask", "answer")
READY, BEGINS = b"r", b"b"
MAX_OPEN_FILES = 64
STACK_BYTES = 64 << 20


def main() -> NoReturn:
    """Started by the host with the settings as the only argument: `module_paths`, `preload`, `work_folder`."""
    settings = json.loads(sys.argv[1])
    sys.path[:] = settings["module_paths"]
    for name in settings["preload"]:
        with contextlib.suppress(Exception):  # an import that fails here fails in the job as well, which reports it
            importlib.import_module(name)
    gc.collect()
    gc.freeze()
    os.write(1, READY)
    try:
        job = json.loads(_read_line())
        payload = _read(job["bytes"])
        os.chdir(settings["work_folder"])
        _set_limits(job)
        os.write(1, BEGINS)
        if job["program"] in CONNECTED_PROGRAMS:
            _connect(job["program"])
    except BaseException as error:  # noqa: BLE001 (after any failure here, no code may run)
        os.write(2, f"{type(error).__name__}: {error}".encode())
        os._exit(EXIT_BROKEN)
    try:
        PROGRAMS[job["program"]](payload)
    finally:
        os._exit(EXIT_BROKEN)  # our programs end the process themselves, unless the code has prevented that


def _connect(program_name: str) -> None:
    """Turn the standard streams into pipes to the other program; the reports of `ask` go to standard error."""
    null = os.open("/dev/null", os.O_RDWR)
    for fd, stream in ((dialogue.READ_FD, 0), (dialogue.WRITE_FD, 1), (1, 2), (0, null)):
        os.dup2(stream, fd)
    if program_name == "ask":
        os.dup2(null, 2)


def _set_limits(job: dict[str, Any]) -> None:
    address_space = _address_space_bytes()
    os.closerange(3, 1 << 16)
    limits.set_limit(resource.RLIMIT_AS, address_space + job["memory"])
    cpu_seconds = int(time.process_time() + job["cpu"]) + 1  # includes what was spent on starting up
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 1))  # the soft limit sends SIGXCPU first
    limits.set_limit(resource.RLIMIT_FSIZE, job["files"])
    limits.set_limit(resource.RLIMIT_NOFILE, MAX_OPEN_FILES)
    limits.set_limit(resource.RLIMIT_STACK, STACK_BYTES)
    limits.set_limit(resource.RLIMIT_CORE, 0)
    limits.set_limit(resource.RLIMIT_NPROC, job["threads"])
    kernel.keep_capabilities()
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    seccomp.install(seccomp.build(is_isolated=True))


def _address_space_bytes() -> int:
    """The size of this process's address space: the lowest limit under which it gets another page, to a MiB.

    A container has no /proc that would tell.
    """
    hard_limit = resource.getrlimit(resource.RLIMIT_AS)[1]
    low, high = 0, 1 << 16
    while high - low > 1:
        middle = (low + high) // 2
        try:
            resource.setrlimit(resource.RLIMIT_AS, (middle << 20, hard_limit))
            mmap.mmap(-1, mmap.PAGESIZE).close()
            high = middle
        except (OSError, MemoryError):
            low = middle
    return high << 20


def _read_line() -> bytes:
    """A line of standard input, read byte by byte, because what follows belongs to the job."""
    line = b""
    while not line.endswith(b"\n"):
        line += _read(1)
    return line


def _read(size: int) -> bytes:
    """So many bytes of standard input; the process ends if the host closes it."""
    data = b""
    while len(data) < size:
        chunk = os.read(0, size - len(data))
        if not chunk:
            os._exit(0)
        data += chunk
    return data
