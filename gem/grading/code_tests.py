"""The tests of a programming problem, read from the formats that datasets use.

`inputs`/`outputs`: a dictionary of two lists (CodeContests, TACO, APPS), with `fn_name` for calls of a function;
a list of dictionaries with `input` and `output` (PrimeIntellect, LiveCodeBench); a row of HumanEval.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gem.errors import InvalidData

TESTS = ("tests", "test_cases", "input_output", "verification_info", "test")
"""Columns that tests are in, in the order they are looked for."""


@dataclass(frozen=True, slots=True)
class InputTest:
    """The program reads `given` and must print `wanted`."""

    given: str
    wanted: str


@dataclass(frozen=True, slots=True)
class CallTest:
    """The function `entry` gets `given` and must return `wanted`."""

    entry: str
    given: tuple[Any, ...]
    wanted: Any


@dataclass(frozen=True, slots=True)
class CheckTests:
    """Statements that assert something of the function `entry`, as HumanEval has them."""

    entry: str
    code: str
    """Defines `check(candidate)`, or is statements that name `entry`."""
    before: str = ""
    """The start of the program that the problem gives: its signature and helper functions."""


Tests = Sequence[InputTest] | Sequence[CallTest] | CheckTests


def read_tests(row: Mapping[str, Any], column: str = "") -> Tests:
    """The tests of a problem, from its row.

    Args:
        row: of a dataset.
        column: where they are; by default the first of `TESTS` that is there.

    Raises:
        InvalidData: if there are none, or they are in no known format.
    """
    name = column or next((name for name in TESTS if name in row), "")
    found = _unpacked(row.get(name))
    if isinstance(found, str) and row.get("entry_point"):
        return CheckTests(str(row["entry_point"]), found, str(row.get("prompt", "")))
    if isinstance(found, Mapping) and "test_cases" in found:
        found = _unpacked(found["test_cases"])
    if isinstance(found, Mapping) and "inputs" in found:
        entry = found.get("fn_name") or ""
        pairs = list(zip(found["inputs"], found.get("outputs", []), strict=False))
    elif isinstance(found, Sequence) and not isinstance(found, str) and all(isinstance(one, Mapping) for one in found):
        entry = next((one["fn_name"] for one in found if one.get("fn_name")), "")
        pairs = [(one.get("input", ""), one.get("output", "")) for one in found]
    else:
        raise InvalidData(
            f"The tests of a problem are 'inputs' and 'outputs', a list of 'input' and 'output', or HumanEval's "
            f"'test' with 'entry_point'; here there are the columns {', '.join(row)}."
        )
    if not pairs:
        raise InvalidData("The problem has no tests.")
    return [_call(entry, *pair) for pair in pairs] if entry else [InputTest(*map(_as_text, pair)) for pair in pairs]


def longest(tests: Tests, most: int) -> Tests:
    """At most so many tests, those with the longest inputs first, as GEM picks them; assertions are all kept."""
    if isinstance(tests, CheckTests) or not 0 < most < len(tests):
        return tests
    return sorted(tests, key=lambda test: -len(str(test.given)))[:most]  # type: ignore[return-value]


def _unpacked(value: Any) -> Any:
    """What a column holds: JSON in text, where it is JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _as_text(value: Any) -> str:
    """An input or output as a program reads and writes it: lists are lines."""
    if isinstance(value, list):
        return "\n".join(str(line) for line in value)
    return str(value)


def _call(entry: str, given: Any, wanted: Any) -> CallTest:
    """APPS writes the arguments as a list, LiveCodeBench as lines of literals; results sometimes in a list of one."""
    if isinstance(given, str):
        given = [_literal(line) for line in given.splitlines() if line.strip()]
    return CallTest(entry, tuple(given), _literal(wanted) if isinstance(wanted, str) else wanted)


def _literal(text: str) -> Any:
    for read in (json.loads, ast.literal_eval):
        try:
            return read(text)
        except (ValueError, SyntaxError):
            continue
    return text
