"""Hints for people from the references of a dataset: a step on the way, never the answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

SOLUTIONS = ("solution", "rationale", "explanation")
"""Columns that may hold a worked solution."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_INTEGER = re.compile(r"-?\d{1,3}(?:,?\d{3})*|-?\d+")
_DECIMAL = re.compile(r"(?<!\d)-?\d++\.(\d++)")
_FRACTION = re.compile(r"(?<!\d)-?(?:\\[dt]?frac\{-?(\d++)\}\{(\d++)\}|(\d++)/(\d++))")


def next_step(problem: Mapping[str, Any], answer: str, number: int) -> str:
    """The step `number` (from 0): a sentence of a worked solution without the answer in it, or the answer's form."""
    steps = [*_sentences(problem, answer), f"The form of the answer: it is {form_of(answer)}."]
    return steps[min(number, len(steps) - 1)]


def _sentences(problem: Mapping[str, Any], answer: str) -> list[str]:
    text = next((problem[name] for name in SOLUTIONS if isinstance(problem.get(name), str)), "")
    parts = (part.strip() for part in _SENTENCE.split(text))
    return [part for part in parts if part and not _names(part, answer)]


def _names(text: str, answer: str) -> bool:
    """Whether a text has the answer, or a box or mark before one."""
    return "\\boxed" in text or "####" in text or re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", text) is not None


def form_of(answer: str) -> str:
    """What kind of thing an answer is: "a whole number of 3 digits"."""
    text = answer.strip().strip("$").strip()
    sign = "negative " if text.startswith("-") else ""
    if _INTEGER.fullmatch(text):
        digits = sum(character.isdigit() for character in text)
        return f"a {sign}whole number of {digits} digit{'s' if digits > 1 else ''}"
    if decimal := _DECIMAL.fullmatch(text):
        places = len(decimal[1])
        return f"a {sign}decimal number with {places} digit{'s' if places > 1 else ''} behind the point"
    if fraction := _FRACTION.fullmatch(text):
        digits = len(fraction[2] or fraction[4])
        return f"a {sign}fraction whose denominator has {digits} digit{'s' if digits > 1 else ''}"
    kinds = {
        "\\sqrt": "an expression with a root", "\\pi": "a multiple of π", "(": "a pair, an interval or an expression",
        "=": "an equation", ",": "a list", "\\%": "a percentage", "^": "an expression with a power",
    }  # fmt: skip
    return next((words for mark, words in kinds.items() if mark in text), "an expression or a word")


def next_line(solution: str, program: str) -> str:
    """The first line of a solution that a program does not have, with the line before it."""
    written = {_squeezed(line) for line in program.splitlines()}
    lines = [line for line in solution.splitlines() if line.strip()]
    for number, line in enumerate(lines):
        if _squeezed(line) not in written:
            where = f"after `{lines[number - 1].strip()}` comes" if number else "begins with"
            return f"One solution of {len(lines)} lines {where} `{line.strip()}`."
    return "Your program has every line of a known solution. Look at their order, and try it on the examples."


def _squeezed(line: str) -> str:
    return re.sub(r"\s+", "", line)
