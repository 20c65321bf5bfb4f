"""Whether a program passes the tests of its problem. It runs in the sandbox; what it should answer stays outside.

    grade = grade_code("print(int(input()) * 2)", [InputTest("3\\n", "6\\n")])
    grade.passed, [test.status for test in grade.tests]      # True, ["passed"]

Tests share a process as long as they pass, which is several times faster than one for each. A test that fails after
another one is run once more alone, and that decides: so nothing fails for what an earlier test left behind.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gem.grading.code_tests import CallTest, CheckTests, InputTest, Tests
from gem.sandbox.inside.execution import values
from gem.sandbox.job import SandboxJob, SlotDied
from gem.sandbox.limits import Level, Limits, Result
from gem.sandbox.pool import Pool, libraries_in, shared

TestStatus = Literal["passed", "wrong", "error", "timeout", "memory", "output", "killed", "not run"]

PER_TEST = Limits(wall_seconds=10.0, output_bytes=1 << 20)
"""Ten seconds for each test, as GEM gives them."""
MAX_SHOWN = 600
"""Characters of inputs and outputs that a result keeps, for people to read."""
TOLERANCE = 1e-6
"""Relative and absolute, for numbers with a fraction that functions return."""
MESSAGE = 4096
"""Bytes that a test's line takes besides what it printed."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """How one test went. Texts are cut to `MAX_SHOWN` characters."""

    __test__ = False
    number: int
    """From 1."""
    status: TestStatus
    given: str
    wanted: str
    got: str = ""
    said: str = ""
    """The end of what the program wrote to its standard error, or why the test failed."""

    @property
    def passed(self) -> bool:
        """Whether the answer was right."""
        return self.status == "passed"


@dataclass(frozen=True, slots=True)
class CodeGrade:
    """What became of a program."""

    tests: tuple[TestResult, ...]
    """One for each test, in their order. Assertions are known only when they are reached: without any, one that
    says what happened."""
    level: Level
    """How the program was confined."""
    refused: str = ""
    """Why the program could not be compiled."""

    @property
    def passed(self) -> bool:
        """Whether every test passed."""
        return bool(self.tests) and all(test.passed for test in self.tests)

    @property
    def share(self) -> float:
        """Of the tests that passed, 0 to 1."""
        return sum(test.passed for test in self.tests) / len(self.tests) if self.tests else 0.0


def grade_code(
    code: str,
    tests: Tests,
    *,
    limits: Limits | None = None,
    stop_at_first_failure: bool = False,
    pool: Pool | None = None,
) -> CodeGrade:
    """Run a program under tests.

    Args:
        code: the program.
        tests: of one kind, see `gem.grading.code_tests`.
        limits: for each test; of assertions, for all of them together.
        stop_at_first_failure: leave the tests after it out ("not run").
        pool: of sandboxes; the process's own by default.

    Raises:
        SandboxUnavailable: if this machine cannot confine code.
    """
    pool = pool or shared()
    limits = limits or PER_TEST
    if isinstance(tests, CheckTests):
        return _Dialogue(pool, limits).grade(code, tests)
    return _Series(pool, limits, code, tests, stop=stop_at_first_failure).grade()


class _Series:
    """Tests with an input and an expected output each."""

    def __init__(
        self, pool: Pool, limits: Limits, code: str, tests: Sequence[InputTest] | Sequence[CallTest], *, stop: bool
    ) -> None:
        self.pool, self.limits, self.code, self.tests, self.stop = pool, limits, code, tests, stop
        self.refused = ""

    def grade(self) -> CodeGrade:
        """Run them, as many as possible together."""
        done: list[TestResult] = []
        while len(done) < len(self.tests) and not self.refused:
            found = self._together(len(done))
            if not found[-1].passed and len(found) > 1 and found[-1].status != "timeout":
                found[-1] = self._together(len(done) + len(found) - 1, 1)[0]
            done += found
            if self.stop and not done[-1].passed:
                break
        done += [self._result(number, "not run") for number in range(len(done), len(self.tests))]
        return CodeGrade(tuple(done), self.pool.level, self.refused)

    def _together(self, first: int, most: int = 0) -> list[TestResult]:
        """Tests from `first` on in one process, up to the first that fails."""
        tests = self.tests[first : first + most] if most else self.tests[first:]
        judged: list[TestResult] = []
        read = 0

        def enough(stream: bytearray) -> bool:
            nonlocal read
            end = stream.rfind(b"\n") + 1
            for line in bytes(stream[read:end]).splitlines()[: len(tests) - len(judged)]:
                judged.append(self._judged(first + len(judged), line))
            read = end
            return bool(judged) and not judged[-1].passed

        result = self.pool.execute(self._job(tests, enough), libraries_in(self.code))
        while judged and not all(one.passed for one in judged[:-1]):
            judged.pop()
        if self.refused:
            return [self._result(first, "error", said=self.refused)]
        if len(judged) < len(tests) and (not judged or judged[-1].passed):
            judged.append(self._unfinished(first + len(judged), result))
        return judged

    def _unfinished(self, number: int, result: Result) -> TestResult:
        """A test during which the process ended. A program may end it itself (`os._exit`): it is run as a script."""
        test = self.tests[number]
        if result.status in ("ok", "error") and isinstance(test, InputTest):
            result = self.pool.run(self.code, stdin=test.given, limits=self.limits)
            if result.ok:
                right = same_output(result.stdout, test.wanted)
                return self._result(number, "passed" if right else "wrong", result.stdout, result.stderr)
        return self._result(number, _why(result), result.stdout, result.stderr)

    def _job(self, tests: Sequence[InputTest] | Sequence[CallTest], enough: Any) -> SandboxJob:
        """All inputs, and no expected output."""
        calls = isinstance(tests[0], CallTest)
        task = {
            "source": self.code,
            "entry": tests[0].entry if isinstance(tests[0], CallTest) else None,
            "tests": [values.encode(list(test.given)) if calls else test.given for test in tests],
            "output": self.limits.output_bytes,
        }
        count = len(tests)
        total = replace(
            self.limits,
            wall_seconds=self.limits.wall_seconds * count + 1,
            cpu_seconds=(self.limits.cpu_seconds or self.limits.wall_seconds) * count + 1,
            output_bytes=(2 * self.limits.output_bytes + MESSAGE) * count,
        )
        payload = json.dumps(task, ensure_ascii=False).encode("utf-8", "surrogateescape")
        return SandboxJob(payload, b"", total, "cases", (), self.limits.wall_seconds, enough)

    def _judged(self, number: int, line: bytes) -> TestResult:
        """What a line of the program's process says about a test. The program may have forged it."""
        try:
            found = json.loads(line)
            if "refused" in found:
                self.refused = str(found["refused"])
                return self._result(number, "error", said=self.refused)
            return self._compared(number, found)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return self._result(number, "wrong", said="The program wrote over the lines between it and the grader.")

    def _compared(self, number: int, found: dict[str, Any]) -> TestResult:
        ended, said = found["ended"], str(found.get("err", ""))
        test = self.tests[number]
        if isinstance(test, InputTest):
            got, right = str(found["out"]), same_output(str(found["out"]), test.wanted)
        else:
            value = values.decode(found.get("value"))
            got, right = repr(value) if "value" in found else "", same_value(value, test.wanted)
        if ended == "ok":
            return self._result(number, "passed" if right else "wrong", got, said)
        return self._result(number, ended if ended in ("error", "memory", "output") else "error", got, said)

    def _result(self, number: int, status: TestStatus, got: str = "", said: str = "") -> TestResult:
        test = self.tests[number]
        given, wanted = (test.given, test.wanted) if isinstance(test, InputTest) else _as_call(test)
        return TestResult(number + 1, status, _cut(given), _cut(wanted), _cut(got), said[-MAX_SHOWN:])


class _Dialogue:
    """Assertions in one sandbox, the program in another, a pipe each way."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self.pool, self.limits = pool, limits

    def grade(self, code: str, tests: CheckTests) -> CodeGrade:
        """Run both until one of them ends."""
        refused = _refusal(code)
        if refused:
            return CodeGrade((TestResult(1, "error", tests.entry, "", "", refused),), self.pool.level, refused)
        asked, answered = self._run_both(
            {"before": tests.before, "tests": tests.code, "entry": tests.entry},
            {"source": code, "entry": tests.entry},
            libraries_in(code + tests.code),
        )
        results = [_assertion(number, line) for number, line in enumerate(asked.stdout.splitlines(), 1)]
        if not asked.ok or not results:
            why = asked if not asked.ok else answered
            status: TestStatus = _why(why) if not why.ok else "error"
            results.append(TestResult(len(results) + 1, status, tests.entry, "", "", why.stderr[-MAX_SHOWN:]))
        elif not answered.ok and not all(one.passed for one in results):
            results = [one if one.passed else replace(one, status=_why(answered)) for one in results]
        return CodeGrade(tuple(results), self.pool.level)

    def _run_both(
        self, asking: dict[str, str], answering: dict[str, str], libraries: frozenset[str]
    ) -> tuple[Result, Result]:
        """Both results; once more if a sandbox ended under them, which can be another's fault."""
        try:
            return self._try_both(asking, answering, libraries)
        except SlotDied:
            pass
        try:
            return self._try_both(asking, answering, libraries)
        except SlotDied:
            lost = Result("killed", "", "The sandbox ended together with the code.", 0.0, 0.0, self.pool.level)
            return lost, lost

    def _try_both(
        self, asking: dict[str, str], answering: dict[str, str], libraries: frozenset[str]
    ) -> tuple[Result, Result]:
        questions, asks = os.pipe()
        answers, says = os.pipe()
        ask = SandboxJob(json.dumps(asking).encode(), b"", self.limits, "ask", (answers, asks))
        answer = SandboxJob(json.dumps(answering).encode(), b"", self.limits, "answer", (questions, says))
        return self.pool.execute_pair(ask, answer, libraries)


def _assertion(number: int, line: str) -> TestResult:
    found = json.loads(line)
    status: TestStatus = "passed" if found["passed"] else "error" if found["said"] else "wrong"
    return TestResult(number, status, found["asked"], "True", str(found["passed"]), found["said"])


def _refusal(code: str) -> str:
    """Why a program cannot be compiled; empty if it can. Nothing of it is executed."""
    try:
        compile(code, "solution.py", "exec", dont_inherit=True, flags=0x400)
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def same_output(got: str, wanted: str) -> bool:
    """Whether two printed texts agree, line by line, apart from white space at the ends of lines and of the text."""
    return list(_lines(got)) == list(_lines(wanted))


def _lines(text: str) -> Iterator[str]:
    return (line.rstrip() for line in text.strip().splitlines())


def same_value(got: Any, wanted: Any) -> bool:
    """Whether a returned value is the expected one: tuples are lists, and numbers with a fraction nearly equal.

    Some datasets put an expected result into a list of one.
    """
    if _same(got, wanted):
        return True
    return isinstance(wanted, list) and len(wanted) == 1 and _same(got, wanted[0])


def _same(got: Any, wanted: Any) -> bool:
    if isinstance(got, list | tuple) and isinstance(wanted, list | tuple):
        return len(got) == len(wanted) and all(map(_same, got, wanted))
    if isinstance(got, dict) and isinstance(wanted, dict):
        ours = {str(key): value for key, value in got.items()}  # JSON has no other keys than text
        theirs = {str(key): value for key, value in wanted.items()}
        return ours.keys() == theirs.keys() and all(_same(ours[key], theirs[key]) for key in ours)
    if isinstance(got, bool) != isinstance(wanted, bool):
        return False
    if isinstance(got, float) and isinstance(wanted, int | float):
        return math.isclose(got, wanted, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(got == wanted)


def _why(result: Result) -> TestStatus:
    """What ended a process before its time, as the status of the test that it was at."""
    return "killed" if result.status == "ok" else result.status


def _as_call(test: CallTest) -> tuple[str, str]:
    return f"{test.entry}({', '.join(map(repr, test.given))})", repr(test.wanted)


def _cut(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + " ..."
