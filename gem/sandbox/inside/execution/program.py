"""Executing a script, as `python main.py` would: its own `__main__`, its traceback, its exit code."""

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
"""Every run starts from the same random numbers, so that the same code gives the same output."""
RESERVED = (EXIT_MEMORY,)
PACKAGE = __package__.partition(".")[0]
"""`inside`, or where it is imported by the host, `gem`."""
HERE = os.path.dirname(__file__)


def script(code: bytes) -> NoReturn:
    """Execute a program and end the process."""
    refresh()
    source = code.decode("utf-8", "replace")
    try:
        exit_code = _finish(_execute(source, "main.py"))
    except MemoryError:
        exit_code = EXIT_MEMORY
    except BaseException:  # noqa: BLE001 (raised while a failure was being printed: there is nobody else to tell)
        exit_code = 1
    os._exit(exit_code)


def refresh() -> None:
    """What a run must not inherit from the zygote: its streams, its random numbers, our own modules."""
    open_streams()
    random.seed(SEED)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed(SEED)
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


def open_streams() -> None:
    """`sys.stdin`, `stdout` and `stderr` anew on descriptors 0, 1 and 2."""
    sys.stdin = _stream(0, "r")
    sys.stdout = _stream(1, "w")
    sys.stderr = _stream(2, "w")


def _stream(fd: int, mode: str) -> Any:
    return open(fd, mode, encoding="utf-8", errors="surrogateescape" if fd == 0 else "backslashreplace", closefd=False)


def new_main(name: str) -> dict[str, Any]:
    """A fresh `__main__`: its namespace."""
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=builtins, __file__=name)
    sys.modules["__main__"] = main
    sys.argv = [name]
    return main.__dict__


def remember_source(name: str, source: str) -> None:
    """Let tracebacks show the lines of a program that is in no file."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)


def _execute(source: str, name: str) -> int:
    """The exit code that the program asks for or earns."""
    remember_source(name, source)
    namespace = new_main(name)
    try:
        exec(compile(source, name, "exec", dont_inherit=True), namespace)  # noqa: S102 (it is what all this is for)
    except BaseException as error:  # noqa: BLE001 (a program may raise anything)
        return exit_code_of(error)
    return 0


def exit_code_of(error: BaseException) -> int:
    """What the interpreter would exit with; prints the traceback where it would."""
    if isinstance(error, SystemExit):
        if error.code is None or isinstance(error.code, int):
            wanted = (error.code or 0) & 0xFF
            return 1 if wanted in RESERVED else wanted
        sys.stderr.write(f"{error.code}\n")
        return 1
    show(error)
    return EXIT_MEMORY if isinstance(error, MemoryError) else 1


def show(error: BaseException) -> None:
    """The traceback without our own frames."""
    traceback.print_exception(type(error), error, _below_us(error.__traceback__))


def _below_us(found: TracebackType | None) -> TracebackType | None:
    while found is not None and os.path.dirname(found.tb_frame.f_code.co_filename) == HERE:
        found = found.tb_next
    return found


def _finish(exit_code: int) -> int:
    """What an interpreter does at its end: wait for threads, call what was registered, write out the streams."""
    threads, registered = threading._shutdown, atexit._run_exitfuncs  # type: ignore[attr-defined]  # noqa: SLF001
    for last in (threads, registered, sys.stdout.flush, sys.stderr.flush):
        try:
            last()
        except BaseException as error:  # noqa: BLE001 (a program may raise anything)
            exit_code = exit_code or exit_code_of(error)
    return exit_code
