"""Tests that are code themselves (`assert candidate(3) == 7`), in another process than the program that they test.

There are two processes, each in a sandbox of its own. `ask` executes the tests, whose function `candidate` sends its
arguments through a pipe. `answer` holds the program and sends back what its function returns. So the program can
neither read the expected values nor end the process that tests it.
"""

from __future__ import annotations

import ast
import builtins
import json
import os
from collections.abc import Callable
from typing import Any, NoReturn

from . import cases, program, values
from .common_names import COMMON

READ_FD, WRITE_FD = 3, 4
"""The descriptors of the pipes on both sides."""
MAX_TEXT_CHARS = 300
"""Length of the texts in reports."""


class NoReply(Exception):
    """The other process ended, or replied with something that is no value."""


def answer(payload: bytes) -> NoReturn:
    """Hold a program and call its function for every request. The payload is JSON: `source`, `entry`."""
    task = json.loads(payload)
    program.refresh()
    with open(READ_FD, "rb") as requests, open(WRITE_FD, "wb") as replies:
        namespace = program.new_main(cases.FILE_NAME)
        namespace.update(COMMON, __name__="solution")
        program.register_source(cases.FILE_NAME, task["source"])
        try:
            exec(compile(task["source"], cases.FILE_NAME, "exec", dont_inherit=True), namespace)  # noqa: S102
            function = cases.function_in(namespace, task["entry"])
        except BaseException as error:  # noqa: BLE001 (a program may raise anything)
            function = _raiser(error)
            program.print_traceback(error)
        for line in requests:
            replies.write(json.dumps(_call(function, line)).encode() + b"\n")
            replies.flush()
    os._exit(0)


def _raiser(error: BaseException) -> Callable[..., Any]:
    def raise_error(*_: Any, **__: Any) -> Any:
        raise error

    return raise_error


def _call(function: Callable[..., Any], line: bytes) -> dict[str, Any]:
    """The reply to a request: the returned value, and the arguments if they were changed; or the exception."""
    request = json.loads(line)
    arguments, named = values.decode(request["arguments"]), values.decode(request["named"])
    try:
        value = values.encode(function(*arguments, **named))
    except BaseException as error:  # noqa: BLE001
        return {"raised": type(error).__name__, "message": str(error)[:MAX_TEXT_CHARS]}
    arguments_after = values.encode(arguments)
    changes = {"arguments": arguments_after} if arguments_after != request["arguments"] else {}
    return {"returned": value} | changes


def ask(payload: bytes) -> NoReturn:
    """Execute tests, and write a line of JSON for each assertion. The payload is JSON: `before`, `tests`, `entry`.

    `before` is code that the tests need (the problem's own helper functions). `tests` defines `check(candidate)`, as
    HumanEval's tests do, or is a list of statements that call the function `entry`.
    """
    task = json.loads(payload)
    program.refresh()
    reports = open(os.dup(1), "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (open until the process ends)
    os.dup2(2, 1)
    candidate = _Candidate()
    namespace = program.new_main("tests.py")
    namespace.update(COMMON)
    assertions = _Assertions(reports)
    try:
        exec(compile(task["before"], "problem.py", "exec", dont_inherit=True), namespace)  # noqa: S102
        namespace.update({task["entry"]: candidate, "candidate": candidate, "__assert__": assertions.check})
        tree = ast.fix_missing_locations(_AssertRewriter().visit(ast.parse(task["tests"])))
        exec(compile(tree, "tests.py", "exec", dont_inherit=True), namespace)  # noqa: S102
        if callable(namespace.get("check")):
            namespace["check"](candidate)
    except BaseException as error:  # noqa: BLE001 (tests call the program, which may raise anything)
        assertions.report("", passed=False, message=_describe(error))
    os._exit(0)


class _Candidate:
    """Takes the place of the program's function in the tests, and forwards calls to the other process."""

    def __init__(self) -> None:
        self.replies = open(READ_FD, "rb")  # noqa: SIM115 (open until the process ends)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        request = {"arguments": values.encode(list(arguments)), "named": values.encode(named)}
        os.write(WRITE_FD, json.dumps(request).encode() + b"\n")
        line = self.replies.readline()
        if not line:
            raise NoReply("the program ended instead of returning")
        reply = _parse_reply(line)
        if "raised" in reply:
            raise _make_exception(str(reply["raised"]), str(reply.get("message", "")))
        _update_arguments(arguments, reply.get("arguments", []))
        return reply["returned"]


def _parse_reply(line: bytes) -> dict[str, Any]:
    """A reply with its values decoded: `returned` and perhaps `arguments`, or `raised` and `message`.

    Raises:
        NoReply: if the line is not one that `_call` makes.
    """
    try:
        reply: dict[str, Any] = json.loads(line)
        if "raised" in reply:
            return reply
        return {"returned": values.decode(reply["returned"]), "arguments": values.decode(reply.get("arguments", []))}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NoReply("the program's answer is no value") from error


def _update_arguments(arguments: tuple[Any, ...], arguments_after: list[Any]) -> None:
    """Change the lists and dictionaries among the arguments as the program changed its copies of them."""
    for argument, copy in zip(arguments, arguments_after, strict=False):
        if isinstance(argument, list) and isinstance(copy, list):
            argument[:] = copy
        elif isinstance(argument, dict) and isinstance(copy, dict):
            argument.clear()
            argument.update(copy)


def _make_exception(name: str, message: str) -> Exception:
    """An exception of the builtin class of this name; a `NoReply` if there is no such class."""
    exception_type = getattr(builtins, name, None)
    if isinstance(exception_type, type) and issubclass(exception_type, Exception):
        try:
            return exception_type(message)
        except TypeError:  # a class with other arguments, such as UnicodeDecodeError
            pass
    return NoReply(f"{name}: {message}")


class _AssertRewriter(ast.NodeTransformer):
    """Turns every `assert` into a call that reports its result and does not raise."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """`assert condition` becomes `__assert__(lambda: condition, "condition")`."""
        no_arguments = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        text = ast.Constant(ast.unparse(node.test)[:MAX_TEXT_CHARS])
        call = ast.Call(ast.Name("__assert__", ast.Load()), [ast.Lambda(no_arguments, node.test), text], [])
        return ast.copy_location(ast.Expr(call), node)


class _Assertions:
    """Evaluates assertions, and writes a line of JSON for each: `passed`, `asked` (the condition) and `said`."""

    def __init__(self, reports: Any) -> None:
        self.reports = reports

    def check(self, condition: Callable[[], Any], text: str) -> None:
        """Evaluate one condition; a failure does not end the tests."""
        try:
            passed, message = bool(condition()), ""
        except Exception as error:  # noqa: BLE001 (the program or the test may raise anything)
            passed, message = False, _describe(error)
        self.report(text, passed=passed, message=message)

    def report(self, text: str, *, passed: bool, message: str) -> None:
        """Write a line for the host."""
        self.reports.write(json.dumps({"passed": passed, "asked": text, "said": message}) + "\n")
        self.reports.flush()


def _describe(error: BaseException) -> str:
    if isinstance(error, NoReply):
        return str(error)
    return f"{type(error).__name__}: {error}"[:MAX_TEXT_CHARS]
