"""The tests of a programming problem, read from the formats that datasets use.

The formats are: a dictionary of two lists `inputs` and `outputs`, with `fn_name` for calls of a function (CodeContests,
TACO, APPS); a list of dictionaries with `input` and `output` (PrimeIntellect, LiveCodeBench); a row of HumanEval.
"""

from __future__ import annotations

import ast
import doctest
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem.errors import InvalidData

TESTS = ("tests", "test_cases", "input_output", "verification_info", "test")
"""The columns that may contain the tests; the first one that exists is used."""


@dataclass(frozen=True, slots=True)
class InputTest:
    """A test in which the program reads `input` and must print `expected`."""

    input: str
    expected: str


@dataclass(frozen=True, slots=True)
class CallTest:
    """A test in which the function `entry` is called with the arguments `input` and must return `expected`."""

    entry: str
    input: tuple[Any, ...]
    expected: Any


@dataclass(frozen=True, slots=True)
class CheckTests:
    """Statements with assertions about the function `entry`, as in HumanEval."""

    entry: str
    code: str
    """The statements. They define `check(candidate)`, or use `entry` by its name."""
    before: str = ""
    """The beginning of the program, which the problem gives: a signature and helper functions."""


Tests = Sequence[InputTest] | Sequence[CallTest] | CheckTests


def read_tests(row: Mapping[str, Any], column: str = "") -> Tests:
    """Read the tests of a problem.

    Args:
        row: the problem's row of the dataset.
        column: the column with the tests; by default the first of `TESTS` that exists.

    Raises:
        InvalidData: if there are no tests, or their format is unknown.
    """
    name = column or next((name for name in TESTS if name in row), "")
    data = _parse_json(row.get(name))
    if isinstance(data, str) and row.get("entry_point"):
        return CheckTests(str(row["entry_point"]), data, str(row.get("prompt", "")))
    if isinstance(data, Mapping) and "test_cases" in data:
        data = _parse_json(data["test_cases"])
    if isinstance(data, Mapping) and "inputs" in data:
        entry = data.get("fn_name") or ""
        pairs = list(zip(data["inputs"], data.get("outputs", []), strict=False))
    elif isinstance(data, Sequence) and not isinstance(data, str) and all(isinstance(entry, Mapping) for entry in data):
        entry = next((entry["fn_name"] for entry in data if entry.get("fn_name")), "")
        pairs = [(entry.get("input", ""), entry.get("output", "")) for entry in data]
    else:
        raise InvalidData(
            f"The tests of a problem are 'inputs' and 'outputs', a list of 'input' and 'output', or HumanEval's "
            f"'test' with 'entry_point'; here there are the columns {', '.join(row)}."
        )
    if not pairs:
        raise InvalidData("The problem has no tests.")
    return (
        [_call_test(entry, *pair) for pair in pairs] if entry else [InputTest(*map(_as_text, pair)) for pair in pairs]
    )


def select_longest_tests(tests: Tests, max_tests: int) -> Tests:
    """The `max_tests` tests with the longest inputs, longest first, as GEM selects them; of assertions, all of them."""
    if isinstance(tests, CheckTests) or not 0 < max_tests < len(tests):
        return tests
    return sorted(tests, key=lambda test: -len(str(test.input)))[:max_tests]  # type: ignore[return-value]


def shown_tests(problem: str, tests: Sequence[InputTest] | Sequence[CallTest]) -> list[InputTest | CallTest]:
    """Those of the tests that the text of a problem shows: lines with the whole input, and after them the output."""
    lines = [line.strip() for line in problem.splitlines()]
    return [test for test in tests if isinstance(test, InputTest) and _is_shown(lines, test)]


def _is_shown(lines: Sequence[str], test: InputTest) -> bool:
    given, wanted = ([line.strip() for line in text.strip().splitlines()] for text in (test.input, test.expected))
    after = _find_lines(lines, given, 0) if given and wanted else None
    return after is not None and _find_lines(lines, wanted, after) is not None


def _find_lines(lines: Sequence[str], wanted: Sequence[str], start: int) -> int | None:
    """The index behind the first place from `start` on where these lines stand; None if they do not."""
    places = range(start, len(lines) - len(wanted) + 1)
    return next((at + len(wanted) for at in places if lines[at : at + len(wanted)] == [*wanted]), None)


def examples_of_calls(problem: str, entry: str) -> list[InputTest | CallTest]:
    """The calls of `entry` that a problem shows as in a Python session: `>>> add(1, 2)` and, in the next line, `3`."""
    found: list[InputTest | CallTest] = []
    try:
        examples = doctest.DocTestParser().get_examples(problem) if entry else []
    except ValueError:  # a prompt without a space after it
        return []
    for example in examples:
        try:
            call = ast.parse(example.source.strip(), mode="eval").body
            if not isinstance(call, ast.Call) or call.keywords or getattr(call.func, "id", "") != entry:
                continue
            arguments = tuple(ast.literal_eval(argument) for argument in call.args)
            found.append(CallTest(entry, arguments, ast.literal_eval(example.want.strip())))
        except (SyntaxError, ValueError):
            continue
    return found


def _parse_json(value: Any) -> Any:
    """The value of a column, parsed if it is a string with JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _as_text(value: Any) -> str:
    """An input or output as a program reads or writes it; a list is written line by line."""
    if isinstance(value, list):
        return "\n".join(str(line) for line in value)
    return str(value)


def _call_test(entry: str, arguments: Any, result: Any) -> CallTest:
    """A call from APPS, which has the arguments as a list, or from LiveCodeBench, which has a literal on each line."""
    if isinstance(arguments, str):
        arguments = [_literal(line) for line in arguments.splitlines() if line.strip()]
    return CallTest(entry, tuple(arguments), _literal(result) if isinstance(result, str) else result)


def _literal(text: str) -> Any:
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError):
            continue
    return text
