r"""Whether an answer to a mathematical problem is the reference, however it is written.

    is_correct("\\frac{1}{2}", "0.5")                  # True
    grade("(1, 2]", ["(1,2]", "1<x\\le 2"]).by         # how it was decided

Most answers are decided here in microseconds: by their text, as exact numbers, or by working both formulas out. What
is left goes to math-verify and SymPy, in a process that can be killed (see `judge`). A reference may be a number, a
text, or a list of texts of which one has to be met (Minerva, OlympiadBench).
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeVar

from gem.grading import formula, judge
from gem.grading.formula import Node, NotUnderstood, Value
from gem.grading.latex import LONGEST, tidy, without_units

Number = TypeVar("Number", Fraction, float)
Reference = str | int | float | Sequence[str]
By = Literal["text", "number", "formula", "judge", "given up", "unread"]

DECIMALS = 6
"""A number with a decimal point equals another one if both agree to so many places, as in math-verify."""
TINY = 1000
"""... and their difference, so many times, is no larger than they are: 0.0000004 is not zero."""
EQUAL = 1e-10
"""Formulas whose values differ less, relative to their size, are equal ..."""
DIFFERENT = 1e-6
"""... those that differ more are different, and between the two the judge decides."""
NOISE = 1e-12
"""What may be left where terms cancel out."""
POINTS = (
    (1.3719, 0.6180339887), (2.7541, 0.4142135623), (-1.9173, 0.7320508075), (0.3177, -0.2360679774),
    (3.0481, 0.1622776601),
)  # fmt: skip
"""Where formulas with variables are compared: the first number and a multiple of the second for each variable."""

_WORD = re.compile(r"[a-zA-Z]{3,}")
_TEXT_ONLY = re.compile(r"[a-zA-Z][a-zA-Z' \-]{2,}")
_DECIMAL = re.compile(r"-?\d*\.\d+(?:[eE][-+]?\d+)?%?|-?\d+[eE][-+]?\d+%?")
_NUMBER = re.compile(r"(-?)(\d+(?:\.\d+)?|\.\d+)(?:/(\d+))?(%?)")
_BASED = re.compile(r"\d+_(?:\d+|\{\d+\})")
_BRACES = re.compile(r"[{}]")
_NAMED = re.compile(r"(?:[a-zA-Z]|\\[a-z]+)(?:_(?:\{[^{}]*\}|\w))?(?:\([a-z]\))?")
_OPEN, _CLOSE = "([{", ")]}"


@dataclass(frozen=True, slots=True)
class Grade:
    """Whether an answer is correct, and what decided it."""

    correct: bool
    by: By
    """"given up": SymPy took too long; "unread": the answer is empty or too long."""


def is_correct(answer: str, reference: Reference) -> bool:
    """Whether `answer` (what stands in the box) is the reference."""
    return grade(answer, reference).correct


def grade(answer: str, reference: Reference) -> Grade:
    """As `is_correct`, with what decided it.

    Raises:
        MissingDependency: if the judge is needed and math-verify is not installed.
        EnvironmentFailure: if the judge's process ends again and again.
    """
    if len(answer) > LONGEST or not answer.strip():
        return Grade(False, "unread")
    options = alternatives(reference)
    found = [decided_here(answer, option) for option in options]
    for decided in found:
        if decided is not None and decided.correct:
            return decided
    for option, decided in zip(options, found, strict=True):
        if decided is None:
            verdict = judge.ask(tidy_for_judge(answer), tidy_for_judge(option))
            if verdict is not False:
                return Grade(bool(verdict), "judge" if verdict else "given up")
    return next((decided for decided in found if decided is not None), Grade(False, "judge"))


def alternatives(reference: Reference) -> list[str]:
    """The texts of which an answer has to meet one; a text that is a Python list of texts counts as the list."""
    if isinstance(reference, str):
        text = reference.strip()
        if text.startswith(("['", '["')):
            try:
                read = ast.literal_eval(text)
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return [reference]
            if isinstance(read, list) and read and all(isinstance(item, str) for item in read):
                return [str(item) for item in read]
        return [reference]
    if isinstance(reference, int | float):
        return [str(int(reference)) if reference == int(reference) else repr(reference)]
    return [str(item) for item in reference]


def tidy_for_judge(text: str) -> str:
    """As people wrote it, in dollar signs: math-verify has a spelling of its own. A price loses its sign."""
    text = text.replace("\\$", "").strip()
    return text if "$" in text else f"${text}$"


@lru_cache(maxsize=8192)
def decided_here(answer: str, reference: str) -> Grade | None:
    """What can be said without SymPy; None if nothing."""
    quick = _as_numbers(answer.strip(), reference.strip())
    if quick is not None:
        return quick
    given, wanted = tidy(answer), tidy(reference)
    if given == wanted:
        return Grade(True, "text")
    if _is_words(given) and _is_words(wanted):
        return Grade(_bare(given) == _bare(wanted), "text")
    if (_is_words(given) and _number(wanted) is not None) or (_is_words(wanted) and _number(given) is not None):
        return Grade(False, "text")
    if _BASED.fullmatch(wanted) and (given.isdigit() or _BASED.fullmatch(given)):
        asked, known = _BRACES.sub("", given), _BRACES.sub("", wanted)
        return Grade(asked in (known, known.partition("_")[0]), "text")
    given, wanted = without_units(given), without_units(wanted)
    if given == wanted:
        return Grade(True, "text")
    quick = _as_numbers(given, wanted)
    if quick is not None:
        return quick
    equal = _compare(given, wanted)
    return None if equal is None else Grade(equal, "formula")


def _bare(words: str) -> str:
    return words.casefold().replace(" ", "")


def _is_words(text: str) -> bool:
    return _TEXT_ONLY.fullmatch(text) is not None


def _as_numbers(answer: str, reference: str) -> Grade | None:
    """Two plain numbers, compared exactly; those with a decimal point to six places."""
    given, wanted = _number(answer), _number(reference)
    if given is None or wanted is None:
        return None
    if "%" in answer or "%" in reference:  # 12.5 for 12.5 %, and 0.125 as well
        factors = (1, Fraction(1, 100)) if ("%" in answer) != ("%" in reference) else (1,)
    else:
        factors = (1,)
    inexact = "." in answer or "." in reference or "e" in (answer + reference).lower()
    if any(_same(given * factor, wanted, inexact) or _same(given, wanted * factor, inexact) for factor in factors):
        return Grade(True, "number")
    return Grade(False, "number")


def _number(text: str) -> Fraction | None:
    found = _NUMBER.fullmatch(text)
    if found is None or len(text) > 400:
        return None
    sign, digits, below, _ = found.groups()
    if below is not None and ("." in digits or not int(below)):
        return None
    value = Fraction(digits) / int(below or 1)
    return -value if sign else value


def _same(one: Number, other: Number, inexact: bool) -> bool:
    """Whether two numbers are equal; inexact ones to so many places, but no tiny number equals a larger one."""
    if one == other or not inexact:
        return one == other
    near = abs(one - other) * TINY <= max(abs(one), abs(other))
    return near and round(one, DECIMALS) == round(other, DECIMALS)


def _compare(given: str, wanted: str) -> bool | None:
    """Two tidied answers as formulas, or lists, tuples, sets and intervals of them; None if nobody can say here."""
    given, wanted = _without_name(given, wanted)
    mine, theirs = _split(given), _split(wanted)
    if mine is None or theirs is None:
        if theirs is not None:
            return _apart(theirs[1], given)
        return _equal(given, wanted) if mine is None else _apart(mine[1], wanted)
    (open_1, parts_1, close_1), (open_2, parts_2, close_2) = mine, theirs
    if (open_1, close_1) != (open_2, close_2):
        return None
    ordered = open_1 in ("(", "[")
    return _each_equal(parts_1, parts_2) if ordered else _same_members(parts_1, parts_2)


def _apart(members: Sequence[str], alone: str) -> bool | None:
    """False where a list has a member that is not the number beside it; whether 7 is {7}, the judge may say."""
    differs = _number(alone) is not None and any(_compare(member, alone) is False for member in members)
    return False if differs else None


def _without_name(given: str, wanted: str) -> tuple[str, str]:
    """Leave out `x=` where the other has it as well, or has no equation."""
    names, values = [], []
    for text in (given, wanted):
        left, equals, right = text.partition("=")
        named = bool(equals) and "=" not in right and "," not in text and _NAMED.fullmatch(left) is not None
        names.append(left if named else "")
        values.append(right if named else text)
    if names[0] and names[1] and names[0] != names[1]:
        return given, wanted
    if any("=" in value for value in values):
        return given, wanted
    return values[0], values[1]


def _split(text: str) -> tuple[str, list[str], str] | None:
    """Brackets and members of a tuple, an interval, a set (`{`) or a bare list (`{` as well); None for one formula."""
    inside, opening, closing = text, "{", "}"
    if text.startswith("\\{") and text.endswith("\\}"):
        inside = text[2:-2]
    elif text[:1] in ("(", "[") and text[-1:] in (")", "]") and _encloses(text):
        opening, closing, inside = text[0], text[-1], text[1:-1]
    members = _members(inside)
    if len(members) == 1 and not text.startswith("\\{"):
        return None
    return opening, members, closing


def _encloses(text: str) -> bool:
    """Whether the first bracket is closed by the last one."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if depth == 0:
            return place == len(text) - 1
    return False


def _members(text: str) -> list[str]:
    members, depth, start = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in _OPEN) - (sign in _CLOSE)
        if sign in ",;" and depth == 0:
            members.append(text[start:place])
            start = place + 1
    return [member.strip() for member in (*members, text[start:])]


def _each_equal(one: Sequence[str], other: Sequence[str]) -> bool | None:
    if len(one) != len(other):
        return False
    found = [_compare(a, b) for a, b in zip(one, other, strict=True)]
    return False if False in found else None if None in found else True


def _same_members(one: Sequence[str], other: Sequence[str]) -> bool | None:
    """Whether every member of either has an equal one in the other."""
    undecided = False
    for these, those in ((one, other), (other, one)):
        for member in these:
            found = [_compare(member, candidate) for candidate in those]
            if True not in found:
                if None not in found:
                    return False
                undecided = True
    if len(one) != len(other):
        return None
    return None if undecided else True


def _equal(given: str, wanted: str) -> bool | None:
    """Whether two formulas have the same value, or the same values wherever they are looked at."""
    if given == wanted:
        return True
    if _WORD.search(re.sub(r"\\[a-zA-Z]+", "", given + " " + wanted)):
        return None
    try:
        mine, theirs = formula.parse(given), formula.parse(wanted)
        names = sorted(formula.variables(mine) | formula.variables(theirs))
        if not names:
            inexact = bool(_DECIMAL.fullmatch(given) or _DECIMAL.fullmatch(wanted))
            return _close(formula.evaluate(mine, {}), formula.evaluate(theirs, {}), inexact)
        return _equal_everywhere(mine, theirs, names)
    except (NotUnderstood, RecursionError):
        return None


def _equal_everywhere(mine: Node, theirs: Node, names: Sequence[str]) -> bool | None:
    found: list[bool | None] = []
    for base, step in POINTS:
        at = {name: complex(base + (number + 1) * step) for number, name in enumerate(names)}
        try:
            found.append(_close(formula.evaluate(mine, at), formula.evaluate(theirs, at), inexact=False))
        except NotUnderstood:
            continue
    if False in found:
        return False
    return True if found.count(True) >= 3 and None not in found else None


def _close(one: Value, other: Value, inexact: bool) -> bool | None:
    if isinstance(one, Fraction) and isinstance(other, Fraction):
        return _same(one, other, inexact)
    a, b = complex(one), complex(other)
    if not (math.isfinite(abs(a)) and math.isfinite(abs(b))):
        return None
    if inexact and abs(a.imag) < EQUAL and abs(b.imag) < EQUAL:
        return _same(a.real, b.real, inexact)
    smaller, larger = sorted((abs(a), abs(b)))
    if abs(a - b) <= EQUAL * larger:
        return True
    if larger < NOISE and smaller < larger * DIFFERENT:
        return None  # zero, as far as one can see
    return False if abs(a - b) > DIFFERENT * larger else None
