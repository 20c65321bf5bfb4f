"""Tests that are code themselves (`assert candidate(3) == 7`), in a process apart from the program they judge.

Two processes, each in a sandbox of its own. `ask` executes the tests; their `candidate` sends its arguments through a
pipe. `answer` holds the program and sends back what it returns. So the program never meets the tests: it can neither
read the expected values nor end the process that judges it.
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

READ, WRITE = 3, 4
"""The descriptors of the pipes on both sides."""
MAX_TEXT = 300


class Unanswered(Exception):
    """The other process ended, or answered with something that is no value."""


def answer(payload: bytes) -> NoReturn:
    """Hold a program and call its function whenever asked. The payload is JSON: `source`, `entry`."""
    task = json.loads(payload)
    program.refresh()
    with open(READ, "rb") as asked, open(WRITE, "wb") as answers:
        namespace = program.new_main(cases.NAME)
        namespace.update(COMMON, __name__="solution")
        program.remember_source(cases.NAME, task["source"])
        try:
            exec(compile(task["source"], cases.NAME, "exec", dont_inherit=True), namespace)  # noqa: S102
            function = cases.function_in(namespace, task["entry"])
        except BaseException as error:  # noqa: BLE001 (a program may raise anything)
            function = _raiser(error)
            program.show(error)
        for line in asked:
            answers.write(json.dumps(_call(function, line)).encode() + b"\n")
            answers.flush()
    os._exit(0)


def _raiser(error: BaseException) -> Callable[..., Any]:
    def raise_again(*_: Any, **__: Any) -> Any:
        raise error

    return raise_again


def _call(function: Callable[..., Any], line: bytes) -> dict[str, Any]:
    """One call: what it returned, and its arguments if it changed them; or what it raised."""
    asked = json.loads(line)
    arguments, named = values.decode(asked["arguments"]), values.decode(asked["named"])
    try:
        returned = values.encode(function(*arguments, **named))
    except BaseException as error:  # noqa: BLE001
        return {"raised": type(error).__name__, "said": str(error)[:MAX_TEXT]}
    after = values.encode(arguments)
    return {"returned": returned} | ({"arguments": after} if after != asked["arguments"] else {})


def ask(payload: bytes) -> NoReturn:
    """Execute tests, one line of JSON for each assertion. The payload is JSON: `before`, `tests`, `entry`.

    `before` is what the tests may use besides (the problem's own helper functions). `tests` defines `check(candidate)`
    as HumanEval's do, or is a list of statements that name `entry`.
    """
    task = json.loads(payload)
    program.refresh()
    reports = open(os.dup(1), "w", encoding="utf-8", closefd=False)  # noqa: SIM115 (it lives as long as the process)
    os.dup2(2, 1)
    candidate = _Candidate()
    namespace = program.new_main("tests.py")
    namespace.update(COMMON)
    assertions = _Assertions(reports)
    try:
        exec(compile(task["before"], "problem.py", "exec", dont_inherit=True), namespace)  # noqa: S102
        namespace.update({task["entry"]: candidate, "candidate": candidate, "__assert__": assertions.judge})
        tree = ast.fix_missing_locations(_Watch().visit(ast.parse(task["tests"])))
        exec(compile(tree, "tests.py", "exec", dont_inherit=True), namespace)  # noqa: S102
        if callable(namespace.get("check")):
            namespace["check"](candidate)
    except BaseException as error:  # noqa: BLE001 (tests call the program, which may raise anything)
        assertions.report(passed=False, asked="", said=_in_words(error))
    os._exit(0)


class _Candidate:
    """Stands for the program's function among the tests."""

    def __init__(self) -> None:
        self.answers = open(READ, "rb")  # noqa: SIM115 (it lives as long as the process)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        asked = {"arguments": values.encode(list(arguments)), "named": values.encode(named)}
        os.write(WRITE, json.dumps(asked).encode() + b"\n")
        line = self.answers.readline()
        if not line:
            raise Unanswered("the program ended instead of returning")
        found = _understood(line)
        if "raised" in found:
            raise _like(str(found["raised"]), str(found.get("said", "")))
        _change(arguments, found.get("arguments", []))
        return found["returned"]


def _understood(line: bytes) -> dict[str, Any]:
    """An answer with its values decoded: `returned` and perhaps `arguments`, or `raised`.

    Raises:
        Unanswered: if it is none of ours.
    """
    try:
        found: dict[str, Any] = json.loads(line)
        if "raised" in found:
            return found
        return {"returned": values.decode(found["returned"]), "arguments": values.decode(found.get("arguments", []))}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise Unanswered("the program's answer is no value") from error


def _change(arguments: tuple[Any, ...], after: list[Any]) -> None:
    """Change lists and dictionaries as the program changed its copies."""
    for ours, theirs in zip(arguments, after, strict=False):
        if isinstance(ours, list) and isinstance(theirs, list):
            ours[:] = theirs
        elif isinstance(ours, dict) and isinstance(theirs, dict):
            ours.clear()
            ours.update(theirs)


def _like(name: str, said: str) -> Exception:
    """An exception of the builtin class of this name, where there is one."""
    kind = getattr(builtins, name, None)
    if isinstance(kind, type) and issubclass(kind, Exception):
        try:
            return kind(said)
        except TypeError:  # one that takes other arguments, such as UnicodeDecodeError
            pass
    return Unanswered(f"{name}: {said}")


class _Watch(ast.NodeTransformer):
    """Turns every `assert` into a call that notes how it went and goes on."""

    def visit_Assert(self, node: ast.Assert) -> ast.AST:
        """`assert condition` becomes `__assert__(lambda: condition, "condition")`."""
        nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
        text = ast.Constant(ast.unparse(node.test)[:MAX_TEXT])
        call = ast.Call(ast.Name("__assert__", ast.Load()), [ast.Lambda(nothing, node.test), text], [])
        return ast.copy_location(ast.Expr(call), node)


class _Assertions:
    """Notes how each assertion went, one line each."""

    def __init__(self, reports: Any) -> None:
        self.reports = reports

    def judge(self, condition: Callable[[], Any], asked: str) -> None:
        """Look at one condition; a failure does not end the tests."""
        try:
            passed, said = bool(condition()), ""
        except Exception as error:  # noqa: BLE001 (whatever the program or the test raises)
            passed, said = False, _in_words(error)
        self.report(passed=passed, asked=asked, said=said)

    def report(self, *, passed: bool, asked: str, said: str) -> None:
        """A line for the host."""
        self.reports.write(json.dumps({"passed": passed, "asked": asked, "said": said}) + "\n")
        self.reports.flush()


def _in_words(error: BaseException) -> str:
    if isinstance(error, Unanswered):
        return str(error)
    return f"{type(error).__name__}: {error}"[:MAX_TEXT]
