"""Numbers as people and models write them, read exactly: whole numbers, decimal numbers and fractions."""

from __future__ import annotations

import re
from fractions import Fraction

MAX_CHARS = 60
"""The length of the longest text that is read as a number."""
_LATEX_FRACTION = re.compile(r"(-?)\\[dt]?frac\{(-?\d{1,20})\}\{(\d{1,20})\}")
_FRACTION = re.compile(r"(-?\d{1,20})/(\d{1,20})")
_DECIMAL = re.compile(r"-?\d{1,20}(?:\.\d{1,20})?")
_GROUPED = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d{1,20})?")
_NOISE = re.compile(r"\\[,;! ]|[\s$]")
"""What may stand between and around the parts of a number: spaces, also those of LaTeX, and dollar signs."""


def read_number(text: str) -> Fraction | None:
    """The number that a text is, exactly; None if it is anything else.

    It reads 12, -3.50, 1,250 and 3/7, and fractions in LaTeX, but neither units nor mixed numbers.
    """
    if len(text) > MAX_CHARS:
        return None
    text = _NOISE.sub("", text).replace("\\left", "").replace("\\right", "").replace("−", "-").removesuffix(".")
    if not text.isascii():
        return None
    if found := _LATEX_FRACTION.fullmatch(text):
        sign, top, bottom = found.groups()
        return _quotient(f"{sign}{top}".replace("--", ""), bottom)
    if found := _FRACTION.fullmatch(text):
        return _quotient(*found.groups())
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    return Fraction(text) if _DECIMAL.fullmatch(text) else None


def _quotient(top: str, bottom: str) -> Fraction | None:
    return Fraction(int(top), int(bottom)) if int(bottom) else None
