r"""Formulas in texts of environments and agents, as MathML that browsers draw without scripts.

What stands between `$`, `$$`, `\(` and `\[`, in environments such as `align`, in a `\boxed{}` that holds more than
plain text, and a reference answer in LaTeX are converted by math-core; all else, and every formula that it does not
know, stays as it was written. The text may come from anybody: what goes in is bounded, because the converter is
recursive, and what comes out is cleaned.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, NamedTuple

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from gem.envs.problems.problem import CORRECT_ANSWER
from gem.grading.parsing import extract_last_boxed_answer

LONGEST_TEXT = 20_000
LONGEST_FORMULA = 2_000
MOST_FORMULAS = 300
MOST_OPENERS, DEEPEST = 300, 30
"""Commands, braces and scripts of a formula, and how deep braces are nested: a fifth of what a stack of 512 KiB holds.
The 7,386 formulas of the mathematics evaluation sets have at most 65."""

ENVIRONMENTS = "align|alignat|aligned|array|cases|equation|gather|gathered|matrix|multline|pmatrix|bmatrix|vmatrix"
_FORMULA = re.compile(
    r"(?P<escaped>\\\\|\\\$)"
    r"|\$\$(?P<display>(?:\\.|[^$\\])+)\$\$"
    r"|\$(?=\S)(?P<inline>(?:\\.|[^$\\])+)(?<=\S)\$(?!\d)"
    r"|\\\((?P<round>(?:(?!\\[()]).)+)\\\)"
    r"|\\\[(?P<square>(?:(?!\\[\[\]]).)+)\\\]"
    rf"|(?P<environment>\\begin\{{(?P<name>(?:{ENVIRONMENTS})\*?)\}}(?:(?!\\begin\{{(?P=name)\}}).)+?\\end\{{(?P=name)\}})"
    r"|(?P<boxed>\\boxed(?=\{))"
    rf"|(?<={re.escape(CORRECT_ANSWER)})(?P<reference>[^\n$]*[\\^][^\n$]*)",
    re.DOTALL,
)
_KINDS = ("display", "inline", "round", "square", "environment", "reference")
_OPENER = re.compile(r"[\\{^_\[(]")
_DEFINES = re.compile(r"\\(?:re|provide)?newcommand|\\[gex]?def\b|\\let\b|\\DeclareMathOperator")
_WORD = re.compile(r"[a-z]{3,}")
_TAG = re.compile(r"\\tag\*?\{([^{}]*)\}")
"""The number of an equation, which the converter takes in numbered environments only."""
_BRACE = re.compile(r"[{}]")
_COMMAND = re.compile(r"\\[a-zA-Z]|\^")
_MATHEMATICS = re.compile(r"[\\^_]")
_ALIGNED = re.compile(r'style="text-align: (left|right);[^"]*"')

_MACROS = {"AA": r"\text{Å}", "dotsc": r"\ldots", "dotsm": r"\cdots", "cfrac": r"\dfrac"}
"""Commands that problems use and the converter does not know."""

_SPACING = {"lspace", "rspace", "stretchy", "form", "fence", "separator", "largeop", "movablelimits", "symmetric"}
ATTRIBUTES = {
    "math": {"display"},
    "mi": {"mathvariant"},
    "mo": {*_SPACING, "minsize", "maxsize", "accent"},
    "mspace": {"width", "height", "depth"},
    "mpadded": {"width", "height", "depth", "lspace", "voffset"},
    "mfrac": {"linethickness"},
    "mover": {"accent"},
    "munder": {"accentunder"},
    "munderover": {"accent", "accentunder"},
    "mtable": {"displaystyle", "scriptlevel"},
    "mstyle": {"displaystyle", "scriptlevel"},
    "mrow": {"displaystyle", "scriptlevel"},
    "mtd": {"class", "columnspan", "rowspan"},
    "menclose": {"notation"},
}
TAGS = {*ATTRIBUTES, "mn", "mtext", "ms", "msup", "msub", "msubsup", "msqrt", "mroot", "mtr", "mphantom"}


class _Found(NamedTuple):
    """A formula in a text."""

    start: int
    end: int
    latex: str
    display: bool


def typeset(text: str) -> SafeString:
    """The text with its formulas drawn, as HTML; empty if there is none that can be.

    Line breaks and spaces stay as characters, so it stands where CSS keeps them (`white-space: pre-wrap`).
    """
    if len(text) > LONGEST_TEXT or not any(sign in text for sign in ("$", "\\", CORRECT_ANSWER)):
        return SafeString("")
    parts, place = [], 0
    for found in _formulas(text):
        mathml = _mathml(found.latex, found.display)
        if mathml:
            parts += [_plain(text[place : found.start]), mathml]
            place = found.end
    return mark_safe("".join([*parts, _plain(text[place:])]) if parts else "")  # noqa: S308 (escaped and cleaned)


def formula(latex: str, display: bool) -> SafeString:
    """One formula, drawn; as it was written, between its dollars, if it cannot be."""
    sign = "$$" if display else "$"
    return mark_safe(_mathml(latex, display) or _plain(f"{sign}{latex}{sign}"))  # noqa: S308 (escaped and cleaned)


def answer(action: str) -> SafeString:
    r"""What stands in the last `\boxed{}` of an action, drawn; empty if that is no formula."""
    boxed = extract_last_boxed_answer(action) or ""
    return mark_safe(_mathml(boxed, False) if _COMMAND.search(boxed) else "")  # noqa: S308 (cleaned)


def _formulas(text: str) -> Iterator[_Found]:
    """What may be a formula, from left to right; the converter knows whether it is one."""
    place = tries = 0
    while tries < MOST_FORMULAS and (found := _FORMULA.search(text, place)):
        start, place = found.span()
        kind = next(name for name in ("escaped", "boxed", *_KINDS) if found[name] is not None)
        tries += kind != "escaped"
        if kind == "boxed":
            place = _end_of_group(text, place)
            if _MATHEMATICS.search(text, found.end(), place):
                yield _Found(start, place, text[start:place], False)
        elif kind == "inline" and not _is_formula(found[kind]):
            place = start + 1
        elif kind == "reference":
            yield _Found(start, place, found[kind].replace(" or ", r"\text{ or }"), False)
        elif kind != "escaped":
            yield _Found(start, place, found[kind], kind in ("display", "square", "environment"))


def _is_formula(latex: str) -> bool:
    """Whether what stands between two dollars is one, and not words between two prices."""
    words = any(letter.isspace() for letter in latex) and _WORD.search(latex)
    return "\n\n" not in latex and (_MATHEMATICS.search(latex) is not None or not words)


def _end_of_group(text: str, place: int) -> int:
    """Where the group in braces that begins at `place` ends; `place` if it does not."""
    depth = 0
    for brace in _BRACE.finditer(text, place, place + LONGEST_FORMULA):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return place


def _plain(text: str) -> str:
    return str(escape(text.replace("\\$", "$")))


@lru_cache(4096)
def _mathml(latex: str, display: bool) -> str:
    """The formula as clean MathML; empty if the converter does not know all of it."""
    convert = _converter()
    if convert is None or not _is_bounded(latex):
        return ""
    made = convert(_TAG.sub(r"\\qquad\\text{(\1)}", latex), display)
    return nh3.clean(_ALIGNED.sub(r'class="\1"', made), tags=TAGS, attributes=ATTRIBUTES) if made else ""


def _is_bounded(latex: str) -> bool:
    depth = deepest = 0
    for letter in latex[: LONGEST_FORMULA + 1]:
        depth += (letter == "{") - (letter == "}")
        deepest = max(deepest, depth)
    bounded = len(latex) <= LONGEST_FORMULA and deepest <= DEEPEST and len(_OPENER.findall(latex)) <= MOST_OPENERS
    return bounded and _DEFINES.search(latex) is None


@cache
def _converter() -> Any:
    """Formula and whether it is displayed to MathML, empty for what is no formula; None without the package."""
    try:
        from math_core import LatexError, LatexToMathML  # noqa: PLC0415 (no wheel on some machines: texts stay as written)
    except ImportError:
        return None
    lock, one = threading.Lock(), LatexToMathML(fancy_error=False, allow_unreliable_rendering=True, macros=_MACROS)

    def convert(latex: str, display: bool) -> str:
        try:
            with lock:  # it refuses to be used from two threads at once
                return str(one.convert_with_local_state(latex, displaystyle=display))
        except LatexError:
            return ""

    return convert
