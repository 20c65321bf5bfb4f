"""Executes a script as `python main.py` would, with the same `__main__`, traceback and exit code."""

from __future__ import annotations

import atexit
import builtins
import linecache
import os
import random
import sys
import threading
import traceback
from types import ModuleType, TracebackType
from typing import Any, NoReturn

from ..settings import EXIT_MEMORY

SEED = 0
"""Seed of the random numbers in every run, so that the same code gives the same output."""
RESERVED_EXIT_CODES = (EXIT_MEMORY,)
TOP_PACKAGE = __package__.partition(".")[0]
"""`inside`, or `gem` where the host imports this module."""
FOLDER = os.path.dirname(__file__)


def script(code: bytes) -> NoReturn:
    """Execute a program and end the process."""
    refresh()
    source = code.decode("utf-8", "replace")
    try:
        exit_code = _finish(_execute(source, "main.py"))
    except MemoryError:
        exit_code = EXIT_MEMORY
    except BaseException:  # noqa: BLE001 (printing a traceback has failed, so that nothing can be reported)
        exit_code = 1
    os._exit(exit_code)


def refresh() -> None:
    """Replace what a run must not inherit from the zygote: its streams, its random state, and our own modules."""
    open_streams()
    random.seed(SEED)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(SEED)
    for name in [name for name in sys.modules if name.partition(".")[0] == TOP_PACKAGE]:
        del sys.modules[name]


def open_streams() -> None:
    """Make new objects `sys.stdin`, `stdout` and `stderr` on the descriptors 0, 1 and 2."""
    sys.stdin = _open_stream(0, "r")
    sys.stdout = _open_stream(1, "w")
    sys.stderr = _open_stream(2, "w")


def _open_stream(fd: int, mode: str) -> Any:
    return open(fd, mode, encoding="utf-8", errors="surrogateescape" if fd == 0 else "backslashreplace", closefd=False)


def new_main(name: str) -> dict[str, Any]:
    """Make a new module `__main__` for a file of this name, and return its namespace."""
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __file__=name)
    sys.modules["__main__"] = main
    sys.argv = [name]
    return main.__dict__


def register_source(name: str, source: str) -> None:
    """Let tracebacks show the lines of a program that is in no file."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


def _execute(source: str, name: str) -> int:
    """Execute a program and return its exit code."""
    register_source(name, source)
    namespace = new_main(name)
    try:
        exec(compile(source, name, "exec", dont_inherit=True), namespace)  # noqa: S102 (this module's purpose)
    except BaseException as error:  # noqa: BLE001 (a program may raise anything)
        return exit_code_of(error)
    return 0


def exit_code_of(error: BaseException) -> int:
    """The interpreter's exit code after an exception; prints the traceback as the interpreter would."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            exit_code = (error.code or 0) & 0xFF
            return 1 if exit_code in RESERVED_EXIT_CODES else exit_code
        sys.stderr.write(f"{error.code}\n")
        return 1
    print_traceback(error)
    return EXIT_MEMORY if isinstance(error, MemoryError) else 1


def print_traceback(error: BaseException) -> None:
    """Print the traceback of an exception without our own frames."""
    traceback.print_exception(type(error), error, _skip_own_frames(error.__traceback__))


def _skip_own_frames(frame: TracebackType | None) -> TracebackType | None:
    while frame is not None and os.path.dirname(frame.tb_frame.f_code.co_filename) == FOLDER:
        frame = frame.tb_next
    return frame


def _finish(exit_code: int) -> int:
    """Do what an interpreter does at its end: wait for threads, call exit functions, flush the streams."""
    wait_for_threads = threading._shutdown  # type: ignore[attr-defined]  # noqa: SLF001
    for action in (wait_for_threads, atexit._run_exitfuncs, sys.stdout.flush, sys.stderr.flush):  # noqa: SLF001
        try:
            action()
        except BaseException as error:  # noqa: BLE001 (a program may raise anything)
            exit_code = exit_code or exit_code_of(error)
    return exit_code
