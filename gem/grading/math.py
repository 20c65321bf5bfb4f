r"""Grades answers to mathematical problems: whether an answer equals the reference, in whatever form it is written.

    is_correct("\\frac{1}{2}", "0.5")                  # True
    grade("(1, 2]", ["(1,2]", "1<x\\le 2"]).by         # how it was decided

Most answers are decided here in microseconds: as text, as exact numbers, or by evaluating both formulas. All others go
to math-verify and SymPy, in processes that can be killed (see `judge`). A reference may be a number, a string, or a
list of strings of which one is enough (Minerva, OlympiadBench).
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Literal, TypeVar

from gem.grading import formula, judge
from gem.grading.formula import Node, NotUnderstood, Value
from gem.grading.latex import MAX_ANSWER_CHARS, tidy, without_units

Number = TypeVar("Number", Fraction, float)
Reference = str | int | float | Sequence[str]
By = Literal["text", "number", "formula", "judge", "given up", "unread"]

DECIMALS = 6
"""Decimal places to which numbers with a decimal point have to agree, as in math-verify."""
DIFFERENCE_FACTOR = 1000
"""Numbers with a decimal point may differ by at most the larger one divided by this, so 0.0000004 is not zero."""
EQUAL_TOLERANCE = 1e-10
"""Formulas are equal if their values differ by at most this share of the larger value."""
DIFFERENT_TOLERANCE = 1e-6
"""Formulas are different if their values differ by more than this share. In between, the judge decides."""
ZERO_TOLERANCE = 1e-12
"""Values below this one may be rounding errors of terms that cancel out."""
SAMPLE_POINTS = (
    (1.3719, 0.6180339887), (2.7541, 0.4142135623), (-1.9173, 0.7320508075), (0.3177, -0.2360679774),
    (3.0481, 0.1622776601),
)  # fmt: skip
"""Points at which formulas with variables are compared, as (base, step): variable number n has base + n * step."""

_WORD = re.compile(r"[a-zA-Z]{3,}")
_WORDS = re.compile(r"[a-zA-Z][a-zA-Z' \-]{2,}")
_DECIMAL = re.compile(r"-?\d*\.\d+(?:[eE][-+]?\d+)?%?|-?\d+[eE][-+]?\d+%?")
_NUMBER = re.compile(r"(-?)(\d+(?:\.\d+)?|\.\d+)(?:/(\d+))?(%?)")
_NUMBER_WITH_BASE = re.compile(r"\d+_(?:\d+|\{\d+\})")
_BRACES = re.compile(r"[{}]")
_VARIABLE_NAME = re.compile(r"(?:[a-zA-Z]|\\[a-z]+)(?:_(?:\{[^{}]*\}|\w))?(?:\([a-z]\))?")
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Grade:
    """Whether an answer is correct, and how that was decided."""

    correct: bool
    by: By
    """"given up" if SymPy took too long, "unread" if the answer is empty or too long, otherwise what decided it."""


def is_correct(answer: str, reference: Reference) -> bool:
    """Whether `answer`, the content of the box, equals the reference."""
    return grade(answer, reference).correct


def grade(answer: str, reference: Reference) -> Grade:
    """Whether `answer` equals the reference, and how that was decided.

    Raises:
        MissingDependency: if the judge is needed and math-verify is not installed.
        EnvironmentFailure: if the judge's process ends again and again.
    """
    if len(answer) > MAX_ANSWER_CHARS or not answer.strip():
        return Grade(False, "unread")
    options = alternatives(reference)
    grades = [decide_without_judge(answer, option) for option in options]
    for option_grade in grades:
        if option_grade is not None and option_grade.correct:
            return option_grade
    for option, option_grade in zip(options, grades, strict=True):
        if option_grade is None:
            verdict = judge.ask(tidy_for_judge(answer), tidy_for_judge(option))
            if verdict is not False:
                return Grade(bool(verdict), "judge" if verdict else "given up")
    return next((option_grade for option_grade in grades if option_grade is not None), Grade(False, "judge"))


def alternatives(reference: Reference) -> list[str]:
    """The strings that a reference accepts. A string that is a Python list of strings stands for its members.

    Numbers and arrays of NumPy stand for what they contain.
    """
    reference = reference.tolist() if hasattr(reference, "tolist") else reference
    if isinstance(reference, str):
        text = reference.strip()
        if text.startswith(("['", '["')):
            try:
                items = ast.literal_eval(text)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return [reference]
            if isinstance(items, list) and items and all(isinstance(item, str) for item in items):
                return [str(item) for item in items]
        return [reference]
    if isinstance(reference, int | float) and not isinstance(reference, bool):
        return [str(int(reference)) if reference == int(reference) else repr(reference)]
    return [str(item) for item in reference] if isinstance(reference, Iterable) else [str(reference)]


def tidy_for_judge(text: str) -> str:
    """The text for math-verify, which has its own normalization: with dollar signs around, and no currency signs."""
    text = text.replace("\\$", "").strip()
    return text if "$" in text else f"${text}$"


@lru_cache(maxsize=8192)
def decide_without_judge(answer: str, reference: str) -> Grade | None:
    """The grade, if it can be decided without SymPy; otherwise None."""
    number_grade = _as_numbers(answer.strip(), reference.strip())
    if number_grade is not None:
        return number_grade
    answer, reference = tidy(answer), tidy(reference)
    if answer == reference:
        return Grade(True, "text")
    if _is_words(answer) and _is_words(reference):
        return Grade(_without_spaces(answer) == _without_spaces(reference), "text")
    if (_is_words(answer) and _parse_number(reference) is not None) or (
        _is_words(reference) and _parse_number(answer) is not None
    ):
        return Grade(False, "text")
    if _NUMBER_WITH_BASE.fullmatch(reference) and (answer.isdigit() or _NUMBER_WITH_BASE.fullmatch(answer)):
        answer_digits, reference_digits = _BRACES.sub("", answer), _BRACES.sub("", reference)
        return Grade(answer_digits in (reference_digits, reference_digits.partition("_")[0]), "text")
    answer, reference = without_units(answer), without_units(reference)
    if answer == reference:
        return Grade(True, "text")
    number_grade = _as_numbers(answer, reference)
    if number_grade is not None:
        return number_grade
    if max(_nesting(answer), _nesting(reference)) > formula.MAX_DEPTH:
        return None
    equal = _compare(answer, reference)
    return None if equal is None else Grade(equal, "formula")


def _without_spaces(words: str) -> str:
    return words.casefold().replace(" ", "")


def _is_words(text: str) -> bool:
    return _WORDS.fullmatch(text) is not None


def _as_numbers(answer: str, reference: str) -> Grade | None:
    """The grade if both are plain numbers, otherwise None. Numbers with a decimal point are compared to six places."""
    answer_number, reference_number = _parse_number(answer), _parse_number(reference)
    if answer_number is None or reference_number is None:
        return None
    if "%" in answer or "%" in reference:  # for 12.5 %, both 12.5 and 0.125 are correct
        factors = (1, Fraction(1, 100)) if ("%" in answer) != ("%" in reference) else (1,)
    else:
        factors = (1,)
    is_inexact = "." in answer or "." in reference or "e" in (answer + reference).lower()
    if any(
        _same_number(answer_number * factor, reference_number, is_inexact)
        or _same_number(answer_number, reference_number * factor, is_inexact)
        for factor in factors
    ):
        return Grade(True, "number")
    return Grade(False, "number")


def _parse_number(text: str) -> Fraction | None:
    match = _NUMBER.fullmatch(text)
    if match is None or len(text) > 400:
        return None
    sign, digits, denominator, _ = match.groups()
    if denominator is not None and ("." in digits or not int(denominator)):
        return None
    value = Fraction(digits) / int(denominator or 1)
    return -value if sign else value


def _same_number(a: Number, b: Number, is_inexact: bool) -> bool:
    """Whether two numbers are equal; inexact ones to `DECIMALS` places and relative to their size."""
    if a == b or not is_inexact:
        return a == b
    is_near = abs(a - b) * DIFFERENCE_FACTOR <= max(abs(a), abs(b))
    return is_near and round(a, DECIMALS) == round(b, DECIMALS)


def _compare(answer: str, reference: str) -> bool | None:
    """Whether two tidied answers are equal as formulas, or as lists, tuples, sets or intervals of formulas.

    None if that cannot be decided here.
    """
    answer, reference = _without_name(answer, reference)
    answer_parts, reference_parts = _split_members(answer), _split_members(reference)
    if answer_parts is None or reference_parts is None:
        if reference_parts is not None:
            return _compare_list_to_single(reference_parts[1], answer)
        if answer_parts is not None:
            return _compare_list_to_single(answer_parts[1], reference)
        return _equal_formulas(answer, reference)
    (open_1, parts_1, close_1), (open_2, parts_2, close_2) = answer_parts, reference_parts
    if (open_1, close_1) != (open_2, close_2):
        return None
    is_ordered = open_1 in ("(", "[")
    return _each_equal(parts_1, parts_2) if is_ordered else _same_members(parts_1, parts_2)


def _compare_list_to_single(members: Sequence[str], single: str) -> bool | None:
    """False if a list has a member other than a single number; None otherwise, since the judge decides if 7 is {7}."""
    has_different_member = _parse_number(single) is not None and any(
        _compare(member, single) is False for member in members
    )
    return False if has_different_member else None


def _without_name(answer: str, reference: str) -> tuple[str, str]:
    """Both texts without a leading `x=`, unless they name different variables or are other equations."""
    names, values = [], []
    for text in (answer, reference):
        left, equals, right = text.partition("=")
        has_name = bool(equals) and "=" not in right and "," not in text and _VARIABLE_NAME.fullmatch(left) is not None
        names.append(left if has_name else "")
        values.append(right if has_name else text)
    if names[0] and names[1] and names[0] != names[1]:
        return answer, reference
    if any("=" in value for value in values):
        return answer, reference
    return values[0], values[1]


def _split_members(text: str) -> tuple[str, list[str], str] | None:
    """Opening bracket, members and closing bracket of a tuple, an interval, a set or a list; None for one formula.

    A list without brackets counts as a set, with `{` and `}`.
    """
    content, opening, closing = text, "{", "}"
    if text.startswith("\\{") and text.endswith("\\}"):
        content = text[2:-2]
    elif text[:1] in ("(", "[") and text[-1:] in (")", "]") and _encloses(text):
        opening, closing, content = text[0], text[-1], text[1:-1]
    members = _split_at_commas(content)
    if len(members) == 1 and not text.startswith("\\{"):
        return None
    return opening, members, closing


def _encloses(text: str) -> bool:
    """Whether the last bracket closes the first one."""
    depth = 0
    for index, sign in enumerate(text):
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if depth == 0:
            return index == len(text) - 1
    return False


def _nesting(text: str) -> int:
    """How deep the brackets of a text are nested."""
    return max(accumulate((sign in _OPEN) - (sign in _CLOSE) for sign in text), default=0)


def _split_at_commas(text: str) -> list[str]:
    members, depth, start = [], 0, 0
    for index, sign in enumerate(text):
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if sign in ",;" and depth == 0:
            members.append(text[start:index])
            start = index + 1
    return [member.strip() for member in (*members, text[start:])]


def _each_equal(members: Sequence[str], other_members: Sequence[str]) -> bool | None:
    if len(members) != len(other_members):
        return False
    results = [_compare(a, b) for a, b in zip(members, other_members, strict=True)]
    return False if False in results else None if None in results else True


def _same_members(members: Sequence[str], other_members: Sequence[str]) -> bool | None:
    """Whether each member of one list equals some member of the other, in both directions; None if undecided."""
    is_undecided = False
    for some_members, candidates in ((members, other_members), (other_members, members)):
        for member in some_members:
            results = [_compare(member, candidate) for candidate in candidates]
            if True not in results:
                if None not in results:
                    return False
                is_undecided = True
    if len(members) != len(other_members):
        return None
    return None if is_undecided else True


def _equal_formulas(answer: str, reference: str) -> bool | None:
    """Whether two formulas have the same value, or with variables the same values at all `SAMPLE_POINTS`."""
    if answer == reference:
        return True
    if _WORD.search(re.sub(r"\\[a-zA-Z]+", "", answer + " " + reference)):
        return None
    try:
        answer_tree, reference_tree = formula.parse(answer), formula.parse(reference)
        names = sorted(formula.variables(answer_tree) | formula.variables(reference_tree))
        if not names:
            is_inexact = bool(_DECIMAL.fullmatch(answer) or _DECIMAL.fullmatch(reference))
            return _equal_values(formula.evaluate(answer_tree, {}), formula.evaluate(reference_tree, {}), is_inexact)
        return _equal_everywhere(answer_tree, reference_tree, names)
    except (NotUnderstood, RecursionError, OverflowError):
        return None


def _equal_everywhere(answer_tree: Node, reference_tree: Node, names: Sequence[str]) -> bool | None:
    results: list[bool | None] = []
    for base, step in SAMPLE_POINTS:
        values = {name: complex(base + (number + 1) * step) for number, name in enumerate(names)}
        try:
            answer_value = formula.evaluate(answer_tree, values)
            results.append(_equal_values(answer_value, formula.evaluate(reference_tree, values), is_inexact=False))
        except NotUnderstood:
            continue
    if False in results:
        return False
    return True if results.count(True) >= 3 and None not in results else None


def _equal_values(value: Value, other_value: Value, is_inexact: bool) -> bool | None:
    if isinstance(value, Fraction) and isinstance(other_value, Fraction):
        return _same_number(value, other_value, is_inexact)
    a, b = complex(value), complex(other_value)
    if not (math.isfinite(abs(a)) and math.isfinite(abs(b))):
        return None
    if is_inexact and abs(a.imag) < EQUAL_TOLERANCE and abs(b.imag) < EQUAL_TOLERANCE:
        return _same_number(a.real, b.real, is_inexact)
    smaller, larger = sorted((abs(a), abs(b)))
    if abs(a - b) <= EQUAL_TOLERANCE * larger:
        return True
    if larger < ZERO_TOLERANCE and smaller < larger * DIFFERENT_TOLERANCE:
        return None  # both may be zero
    return False if abs(a - b) > DIFFERENT_TOLERANCE * larger else None
