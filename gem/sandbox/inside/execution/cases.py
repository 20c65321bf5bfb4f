"""Runs one program under several tests in one process, which is several times faster than a process for each.

Only the tests' inputs are here, never their expected outputs. Every test has a fresh `__main__`, fresh streams and the
same random seed. What it prints, or returns, is written as a line of JSON to the job's standard output. A program that
forges such lines gains nothing, because it could print the same. The reader repeats a test that failed after another
one in a process of its own.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading
import traceback
from collections.abc import Callable
from types import CodeType
from typing import Any, NoReturn

from . import program, values
from .common_names import COMMON

FILE_NAME = "solution.py"
REPORT_FD = 20
"""The descriptor to which lines for the host are written, while descriptor 1 belongs to the program."""
FIRST_STREAM_FD = 30
"""The first of three descriptors with the files behind the program's standard streams."""
RECURSION_LIMIT = sys.getrecursionlimit()
MAX_ERROR_CHARS = 4000
"""How much of the end of a test's standard error is reported."""


def run(payload: bytes) -> NoReturn:
    """Run the tests in order and end the process.

    The payload is JSON: `source`; `tests`, a list of inputs (strings) or of argument lists; `entry`, the function to
    call or null; `output`, the most bytes that a test may print.
    """
    task = json.loads(payload)
    program.refresh()
    os.dup2(1, REPORT_FD)
    streams = _Streams(task["output"])
    try:
        code = compile(task["source"], FILE_NAME, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError) as error:
        _report({"refused": "".join(traceback.format_exception_only(error))[-MAX_ERROR_CHARS:]})
        os._exit(0)
    program.register_source(FILE_NAME, task["source"])
    run_test = _function_runner(code, task["entry"]) if task["entry"] else _script_runner(code)
    folder = os.getcwd()
    for test in task["tests"]:
        _run_and_report(run_test, test, streams, folder)
    os._exit(0)


def _run_and_report(run_test: Callable[[Any], dict[str, Any]], test: Any, streams: _Streams, folder: str) -> None:
    """Run one test with fresh streams, and report its result."""
    streams.begin(test if isinstance(test, str) else "")
    random.seed(program.SEED)
    os.chdir(folder)
    try:
        result = run_test(test)
    except MemoryError as error:
        result = {"ended": "memory"}
        _print_error(error)
    except SystemExit as error:
        result = {"ended": "ok" if program.exit_code_of(error) == 0 else "error"}
    except BaseException as error:  # noqa: BLE001 (a program may raise anything)
        result = {"ended": "error"}
        _print_error(error)
    sys.setrecursionlimit(RECURSION_LIMIT)
    _report(result | streams.end())


def _script_runner(code: CodeType) -> Callable[[Any], dict[str, Any]]:
    """A function that runs the whole program, which reads the test from its standard input."""

    def run_test(_: Any) -> dict[str, Any]:
        namespace = program.new_main(FILE_NAME)
        namespace.update(COMMON)
        exec(code, namespace)  # noqa: S102 (executing untrusted code is this module's purpose)
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
        return {"ended": "ok"}

    return run_test


def _function_runner(code: CodeType, entry: str) -> Callable[[Any], dict[str, Any]]:
    """A function that calls a function of the program, or a method of its class `Solution`, with a test's arguments."""

    def run_test(arguments: Any) -> dict[str, Any]:
        namespace = program.new_main(FILE_NAME)
        namespace.update(COMMON, __name__="solution")  # skips what is under `if __name__ == "__main__"`
        exec(code, namespace)  # noqa: S102
        value = function_in(namespace, entry)(*values.decode(arguments))
        return {"ended": "ok", "value": values.encode(value)}

    return run_test


def function_in(namespace: dict[str, Any], entry: str) -> Callable[..., Any]:
    """The function of this name, at the top level or in the class `Solution`.

    Raises:
        NameError: if the program defines neither.
    """
    if entry in namespace:
        function: Callable[..., Any] = namespace[entry]
        return function
    method = getattr(namespace.get("Solution"), entry, None)
    if method is None:
        raise NameError(f"the program defines no function {entry!r}")
    return getattr(namespace["Solution"](), entry)  # type: ignore[no-any-return]


def _print_error(error: BaseException) -> None:
    try:
        program.print_traceback(error)
    except BaseException:  # noqa: BLE001 (making the exception's text may fail, or exceed the memory)
        sys.stderr.write(type(error).__name__)


def _report(result: dict[str, Any]) -> None:
    """Write a line for the host."""
    data = memoryview((json.dumps(result, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
    while data:
        data = data[os.write(REPORT_FD, data) :]


class _Streams:
    """Descriptors 0, 1 and 2 as files that are emptied for every test.

    They are files instead of objects in memory, because programs also read with `os.read(0, os.fstat(0).st_size)` and
    write with `os.write`.

    Args:
        max_bytes: the most bytes that a test may print.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.files = [_make_unnamed_file(FIRST_STREAM_FD + stream) for stream in range(3)]

    def begin(self, text: str) -> None:
        """Provide a test's input, and empty outputs."""
        for stream, file in enumerate(self.files):
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            os.dup2(file, stream)
        data = memoryview(text.encode("utf-8", "surrogateescape"))
        while data:
            data = data[os.write(0, data) :]
        os.lseek(0, 0, os.SEEK_SET)
        program.open_streams()

    def end(self) -> dict[str, Any]:
        """What the test wrote; with `ended` if it was too much."""
        result: dict[str, Any] = {}
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:  # the file would be too large
            result["ended"] = "output"
        except ValueError:  # the program has closed the stream, which has flushed it
            pass
        out, err = (os.pread(file, self.max_bytes + 1, 0) for file in self.files[1:])
        if len(out) > self.max_bytes:
            result["ended"] = "output"
        return result | {"out": _decode(out[: self.max_bytes]), "err": _decode(err)[-MAX_ERROR_CHARS:]}


def _make_unnamed_file(fd: int) -> int:
    """Make a file without a name, which no other process can open, with this descriptor."""
    file = os.open(".stream", os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600)
    os.unlink(".stream")
    os.dup2(file, fd)
    os.close(file)
    return fd


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")
