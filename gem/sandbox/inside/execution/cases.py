"""One program under several tests in one process: that is several times faster than a process for each.

The tests' inputs are here, their expected outputs never are. Every test gets a fresh `__main__`, fresh streams and the
same random numbers. What it prints, or returns, goes out as a line of JSON on the job's standard output; a program
that forges such lines only says what it would have printed. Who reads them confirms in a process of its own what went
wrong after another test.
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

NAME = "solution.py"
REPORTS, FILES = 20, 30
"""Descriptors: lines for the host go to the first while 1 is the program's; from the second on, its streams."""
RECURSION = sys.getrecursionlimit()
MAX_ERROR = 4000
"""Characters of standard error that are kept of a test: its end."""


def run(payload: bytes) -> NoReturn:
    """Run the tests in their order and end the process.

    The payload is JSON: `source`; `tests`, a list of inputs (text) or of argument lists; `entry`, the function to
    call or null; `output`, the most bytes that a test may print.
    """
    task = json.loads(payload)
    program.refresh()
    os.dup2(1, REPORTS)
    streams = _Streams(task["output"])
    try:
        code = compile(task["source"], NAME, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError) as error:
        _report({"refused": "".join(traceback.format_exception_only(error))[-MAX_ERROR:]})
        os._exit(0)
    program.remember_source(NAME, task["source"])
    judge = _by_call(code, task["entry"]) if task["entry"] else _by_input(code)
    home = os.getcwd()
    for test in task["tests"]:
        _one(judge, test, streams, home)
    os._exit(0)


def _one(judge: Callable[[Any], dict[str, Any]], test: Any, streams: _Streams, home: str) -> None:
    """One test, from fresh streams to its line."""
    streams.begin(test if isinstance(test, str) else "")
    random.seed(program.SEED)
    os.chdir(home)
    try:
        found = judge(test)
    except MemoryError as error:
        found = {"ended": "memory"}
        _say(error)
    except SystemExit as error:
        found = {"ended": "ok" if program.exit_code_of(error) == 0 else "error"}
    except BaseException as error:  # noqa: BLE001 (a program may raise anything)
        found = {"ended": "error"}
        _say(error)
    sys.setrecursionlimit(RECURSION)
    _report(found | streams.end())


def _by_input(code: CodeType) -> Callable[[Any], dict[str, Any]]:
    """The whole program for every test, which reads the test from its standard input."""

    def judge(_: Any) -> dict[str, Any]:
        namespace = program.new_main(NAME)
        namespace.update(COMMON)
        exec(code, namespace)  # noqa: S102 (it is what all this is for)
        threading._shutdown()  # type: ignore[attr-defined]  # noqa: SLF001
        return {"ended": "ok"}

    return judge


def _by_call(code: CodeType, entry: str) -> Callable[[Any], dict[str, Any]]:
    """A function, or a method of the class `Solution`, called with the arguments of the test."""

    def judge(arguments: Any) -> dict[str, Any]:
        namespace = program.new_main(NAME)
        namespace.update(COMMON, __name__="solution")  # what is under `if __name__ == "__main__"` is not wanted
        exec(code, namespace)  # noqa: S102
        returned = function_in(namespace, entry)(*values.decode(arguments))
        return {"ended": "ok", "value": values.encode(returned)}

    return judge


def function_in(namespace: dict[str, Any], entry: str) -> Callable[..., Any]:
    """The function of this name, on its own or in the class `Solution`.

    Raises:
        NameError: if the program defines neither.
    """
    if entry in namespace:
        found: Callable[..., Any] = namespace[entry]
        return found
    method = getattr(namespace.get("Solution"), entry, None)
    if method is None:
        raise NameError(f"the program defines no function {entry!r}")
    return getattr(namespace["Solution"](), entry)  # type: ignore[no-any-return]


def _say(error: BaseException) -> None:
    try:
        program.show(error)
    except BaseException:  # noqa: BLE001 (an exception whose text cannot be made, or no memory for it)
        sys.stderr.write(type(error).__name__)


def _report(line: dict[str, Any]) -> None:
    """A line for the host."""
    data = memoryview((json.dumps(line, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
    while data:
        data = data[os.write(REPORTS, data) :]


class _Streams:
    """Descriptors 0, 1 and 2 as files that are emptied for every test.

    Files, not objects in memory: programs read with `os.read(0, os.fstat(0).st_size)` and write with `os.write`.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.files = [_nameless(FILES + place) for place in range(3)]

    def begin(self, text: str) -> None:
        """Input to read, and empty outputs."""
        for place, file in enumerate(self.files):
            os.ftruncate(file, 0)
            os.lseek(file, 0, os.SEEK_SET)
            os.dup2(file, place)
        data = memoryview(text.encode("utf-8", "surrogateescape"))
        while data:
            data = data[os.write(0, data) :]
        os.lseek(0, 0, os.SEEK_SET)
        program.open_streams()

    def end(self) -> dict[str, Any]:
        """What the test wrote; says so if it was too much."""
        said: dict[str, Any] = {}
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:  # there is no room for it
            said["ended"] = "output"
        except ValueError:  # closed, and so written out, by the program
            pass
        out, err = (os.pread(file, self.most + 1, 0) for file in self.files[1:])
        if len(out) > self.most:
            said["ended"] = "output"
        return said | {"out": _text(out[: self.most]), "err": _text(err)[-MAX_ERROR:]}


def _nameless(place: int) -> int:
    """A file that nobody else can open, at a descriptor out of the way."""
    file = os.open(".stream", os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600)
    os.unlink(".stream")
    os.dup2(file, place)
    os.close(file)
    return place


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
