"""Runs a program under the tests of its problem. The program runs in the sandbox; the expected results stay outside.

    grade = grade_code("print(int(input()) * 2)", [InputTest("3\\n", "6\\n")])
    grade.passed, [test.status for test in grade.tests]      # True, ["passed"]

Tests share a process as long as they pass, which is several times faster than one process for each. A test that fails
after another one is run again alone, and the second result counts, so no test fails because of what an earlier test
left behind.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any, Literal

from gem.grading.code_tests import CallTest, CheckTests, InputTest, Tests
from gem.sandbox.inside.execution import values
from gem.sandbox.job import SandboxJob, SlotDied
from gem.sandbox.limits import Level, Limits, Result
from gem.sandbox.pool import Pool, libraries_in, shared

TestStatus = Literal["passed", "wrong", "error", "timeout", "memory", "output", "killed", "not run"]

DEFAULT_LIMITS = Limits(wall_seconds=10.0, output_bytes=1 << 20)
"""The limits of one test: ten seconds, as in GEM."""
MAX_SHOWN_CHARS = 600
"""Characters of inputs and outputs that a result keeps, for people to read."""
TOLERANCE = 1e-6
"""The relative and absolute tolerance for floats that functions return."""
MESSAGE_BYTES = 4096
"""Bytes that the report of a test needs besides the output of the program."""


@dataclass(frozen=True, slots=True)
class TestResult:
    """The result of one test. Strings are cut to `MAX_SHOWN_CHARS` characters."""

    __test__ = False  # or pytest would take this class for tests
    number: int
    """Counted from 1."""
    status: TestStatus
    input: str
    """The standard input, or the call of the function."""
    expected: str
    actual: str = ""
    message: str = ""
    """The end of what the program wrote to its standard error, or why the test failed."""

    @property
    def passed(self) -> bool:
        """Whether the test passed."""
        return self.status == "passed"


@dataclass(frozen=True, slots=True)
class CodeGrade:
    """The result of running a program under its tests."""

    tests: tuple[TestResult, ...]
    """One result for each test, in order.

    Of assertions only those have one that were executed; if none was, there is one result that says what happened.
    """
    level: Level
    """How the program was confined."""
    compile_error: str = ""
    """Why the program could not be compiled."""

    @property
    def passed(self) -> bool:
        """Whether every test passed."""
        return bool(self.tests) and all(test.passed for test in self.tests)

    @property
    def share(self) -> float:
        """The share of tests that passed, from 0 to 1."""
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
        tests: the tests, all of one kind (see `gem.grading.code_tests`).
        limits: the limits of each test, or of all assertions together.
        stop_at_first_failure: whether to skip the tests after the first failure; their status is "not run".
        pool: the pool of sandboxes; by default the one that the process shares.

    Raises:
        SandboxUnavailable: if this machine cannot confine code.
    """
    pool = pool or shared()
    limits = limits or DEFAULT_LIMITS
    if isinstance(tests, CheckTests):
        return _AssertionRun(pool, limits).grade(code, tests)
    return _TestSeries(pool, limits, code, tests, stop_at_first_failure=stop_at_first_failure).grade()


class _TestSeries:
    """A run of tests that each have an input and an expected output."""

    def __init__(
        self,
        pool: Pool,
        limits: Limits,
        code: str,
        tests: Sequence[InputTest] | Sequence[CallTest],
        *,
        stop_at_first_failure: bool,
    ) -> None:
        self.pool, self.limits, self.code, self.tests = pool, limits, code, tests
        self.stop_at_first_failure = stop_at_first_failure
        self.compile_error = ""

    def grade(self) -> CodeGrade:
        """Run all tests, as many as possible in one process."""
        results: list[TestResult] = []
        while len(results) < len(self.tests) and not self.compile_error:
            new_results = self._run_together(len(results))
            if not new_results[-1].passed and len(new_results) > 1 and new_results[-1].status != "timeout":
                new_results[-1] = self._run_together(len(results) + len(new_results) - 1, 1)[0]
            results += new_results
            if self.stop_at_first_failure and not results[-1].passed:
                break
        results += [self._result(number, "not run") for number in range(len(results), len(self.tests))]
        return CodeGrade(tuple(results), self.pool.level, self.compile_error)

    def _run_together(self, start: int, max_tests: int = 0) -> list[TestResult]:
        """Run tests from number `start` (counted from 0) in one process, up to the first that fails."""
        tests = self.tests[start : start + max_tests] if max_tests else self.tests[start:]
        results: list[TestResult] = []
        num_read = 0

        def is_finished(stream: bytearray) -> bool:
            nonlocal num_read
            line_end = stream.rfind(b"\n") + 1
            for line in bytes(stream[num_read:line_end]).splitlines()[: len(tests) - len(results)]:
                results.append(self._parse_line(start + len(results), line))
            num_read = line_end
            return bool(results) and not results[-1].passed

        def forget() -> None:
            nonlocal num_read
            results.clear()
            num_read = 0

        result = self.pool.execute(self._job(tests, is_finished, forget), libraries_in(self.code))
        while results and not all(earlier.passed for earlier in results[:-1]):
            results.pop()
        if self.compile_error:
            return [self._result(start, "error", message=self.compile_error)]
        if len(results) < len(tests) and (not results or results[-1].passed):
            results.append(self._unfinished_test(start + len(results), result))
        return results

    def _unfinished_test(self, number: int, result: Result) -> TestResult:
        """The result of a test during which the process ended.

        The program itself may have ended it, with `os._exit` for example, so it is run again as a script.
        """
        test = self.tests[number]
        if result.status in ("ok", "error") and isinstance(test, InputTest):
            result = self.pool.run(self.code, stdin=test.input, limits=self.limits)
            if result.ok:
                is_right = same_output(result.stdout, test.expected)
                return self._result(number, "passed" if is_right else "wrong", result.stdout, result.stderr)
        return self._result(number, _failure_status(result), result.stdout, result.stderr)

    def _job(
        self, tests: Sequence[InputTest] | Sequence[CallTest], is_finished: Any, forget: Callable[[], None]
    ) -> SandboxJob:
        """The sandbox's job: all inputs, but no expected output."""
        are_calls = isinstance(tests[0], CallTest)
        task = {
            "source": self.code,
            "entry": tests[0].entry if isinstance(tests[0], CallTest) else None,
            "tests": [values.encode(list(test.input)) if are_calls else test.input for test in tests],
            "output": self.limits.output_bytes,
        }
        count = len(tests)
        total = replace(
            self.limits,
            wall_seconds=self.limits.wall_seconds * count + 1,
            cpu_seconds=(self.limits.cpu_seconds or self.limits.wall_seconds) * count + 1,
            output_bytes=(2 * self.limits.output_bytes + MESSAGE_BYTES) * count,
        )
        payload = json.dumps(task).encode()  # in ASCII, which half a surrogate pair passes too
        silence_seconds = self.limits.wall_seconds
        return SandboxJob(payload, b"", total, "cases", (), silence_seconds, is_finished, restarted=forget)

    def _parse_line(self, number: int, line: bytes) -> TestResult:
        """The result of a test from the line that the program's process wrote. The program may have forged the line."""
        try:
            report = json.loads(line)
            if "refused" in report:
                self.compile_error = str(report["refused"])
                return self._result(number, "error", message=self.compile_error)
            return self._compare(number, report)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return self._result(number, "wrong", message="The program wrote over the lines between it and the grader.")

    def _compare(self, number: int, report: dict[str, Any]) -> TestResult:
        end_status, message = report["ended"], str(report.get("err", ""))
        test = self.tests[number]
        if isinstance(test, InputTest):
            actual, is_right = str(report["out"]), same_output(str(report["out"]), test.expected)
        else:
            value = values.decode(report.get("value"))
            actual, is_right = repr(value) if "value" in report else "", same_value(value, test.expected)
        if end_status == "ok":
            return self._result(number, "passed" if is_right else "wrong", actual, message)
        status: TestStatus = end_status if end_status in ("error", "memory", "output") else "error"
        return self._result(number, status, actual, message)

    def _result(self, number: int, status: TestStatus, actual: str = "", message: str = "") -> TestResult:
        test = self.tests[number]
        input_text, expected = (test.input, test.expected) if isinstance(test, InputTest) else _call_texts(test)
        return TestResult(
            number + 1, status, _shorten(input_text), _shorten(expected), _shorten(actual), message[-MAX_SHOWN_CHARS:]
        )


class _AssertionRun:
    """A run of assertions in one sandbox and the program in another, connected by a pipe in each direction."""

    def __init__(self, pool: Pool, limits: Limits) -> None:
        self.pool, self.limits = pool, limits

    def grade(self, code: str, tests: CheckTests) -> CodeGrade:
        """Run both until one of them ends."""
        compile_error = _find_compile_error(code)
        if compile_error:
            result = TestResult(1, "error", tests.entry, "", "", compile_error)
            return CodeGrade((result,), self.pool.level, compile_error)
        checker_result, program_result = self._run_both(
            {"before": tests.before, "tests": tests.code, "entry": tests.entry},
            {"source": code, "entry": tests.entry},
            libraries_in(code + tests.code),
        )
        results = [_assertion_result(number, line) for number, line in enumerate(checker_result.stdout.splitlines(), 1)]
        passed = list(takewhile(lambda result: result.passed, results))
        is_cut = not program_result.ok and len(passed) < len(results)
        if is_cut:  # the checker went on without the program, for as long as it could itself
            results = passed
        if is_cut or not checker_result.ok or not results:
            cause = checker_result if program_result.ok and not checker_result.ok else program_result
            status: TestStatus = _failure_status(cause) if not cause.ok else "error"
            results.append(TestResult(len(results) + 1, status, tests.entry, "", "", cause.stderr[-MAX_SHOWN_CHARS:]))
        return CodeGrade(tuple(results), self.pool.level)

    def _run_both(
        self, checker_task: dict[str, str], program_task: dict[str, str], libraries: frozenset[str]
    ) -> tuple[Result, Result]:
        """The results of the checker and the program.

        If a sandbox ended, both are run a second time, because another program may have caused that.
        """
        try:
            return self._try_both(checker_task, program_task, libraries)
        except SlotDied:
            pass
        try:
            return self._try_both(checker_task, program_task, libraries)
        except SlotDied:
            killed = Result("killed", "", "The sandbox ended together with the code.", 0.0, 0.0, self.pool.level)
            return killed, killed

    def _try_both(
        self, checker_task: dict[str, str], program_task: dict[str, str], libraries: frozenset[str]
    ) -> tuple[Result, Result]:
        question_reader, question_writer = os.pipe()
        answer_reader, answer_writer = os.pipe()
        checker = SandboxJob(
            json.dumps(checker_task).encode(), b"", self.limits, "ask", (answer_reader, question_writer)
        )
        program = SandboxJob(
            json.dumps(program_task).encode(), b"", self.limits, "answer", (question_reader, answer_writer)
        )
        return self.pool.execute_pair(checker, program, libraries)


def _assertion_result(number: int, line: str) -> TestResult:
    report = json.loads(line)
    status: TestStatus = "passed" if report["passed"] else "error" if report["said"] else "wrong"
    return TestResult(number, status, report["asked"], "True", str(report["passed"]), report["said"])


def _find_compile_error(code: str) -> str:
    """Why a program cannot be compiled; empty if it can. The program is not executed."""
    try:
        compile(code, "solution.py", "exec", dont_inherit=True, flags=0x400)
    except (SyntaxError, ValueError, MemoryError, RecursionError, OverflowError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def same_output(actual: str, expected: str) -> bool:
    """Whether two outputs are equal, ignoring white space at the ends of lines and of the whole output."""
    return list(_lines(actual)) == list(_lines(expected))


def _lines(text: str) -> Iterator[str]:
    return (line.rstrip() for line in text.strip().splitlines())


def same_value(actual: Any, expected: Any) -> bool:
    """Whether a returned value equals the expected one. Tuples count as lists, and floats need only be close.

    Some datasets wrap an expected result in a list with one element, so the element itself is accepted too.
    """
    if _equal_values(actual, expected):
        return True
    return isinstance(expected, list) and len(expected) == 1 and _equal_values(actual, expected[0])


def _equal_values(actual: Any, expected: Any) -> bool:
    if isinstance(actual, list | tuple) and isinstance(expected, list | tuple):
        return len(actual) == len(expected) and all(map(_equal_values, actual, expected))
    if isinstance(actual, dict) and isinstance(expected, dict):
        actual_items = {str(key): value for key, value in actual.items()}  # keys are strings in JSON
        expected_items = {str(key): value for key, value in expected.items()}
        return actual_items.keys() == expected_items.keys() and all(
            _equal_values(actual_items[key], expected_items[key]) for key in actual_items
        )
    if isinstance(actual, bool) != isinstance(expected, bool):
        return False
    if isinstance(actual, float) and isinstance(expected, int | float):
        return math.isclose(actual, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(actual == expected)


def _failure_status(result: Result) -> TestStatus:
    """The status of the test during which a process ended prematurely."""
    return "killed" if result.status == "ok" else result.status


def _call_texts(test: CallTest) -> tuple[str, str]:
    return f"{test.entry}({', '.join(map(repr, test.input))})", repr(test.expected)


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_SHOWN_CHARS else text[:MAX_SHOWN_CHARS] + " ..."
