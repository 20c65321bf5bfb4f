r"""Convert formulas in texts of environments and agents to MathML, which browsers draw without scripts.

math-core converts the LaTeX between `$`, `$$`, `\(` or `\[`, in environments such as `align`, in a `\boxed{}` that
holds more than plain text, and in a reference answer. All other text, and every formula that math-core does not
support, stays as it is. The text is untrusted: the input is limited in size and depth, because the converter is
recursive, and the output is sanitized.
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

MAX_TEXT_CHARACTERS = 20_000
MAX_FORMULA_CHARACTERS = 2_000
MAX_FORMULAS = 300
MAX_OPENERS, MAX_DEPTH = 300, 30
"""Limits for the commands, braces and scripts in a formula, and for the nesting of braces.

They are a fifth of what fits on a stack of 512 KiB. The 7,386 formulas of the mathematics evaluation sets have at most
65 openers.
"""

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
"""The number of an equation, which the converter supports in numbered environments only."""
_BRACE = re.compile(r"[{}]")
_COMMAND = re.compile(r"\\[a-zA-Z]|\^")
_MATHEMATICS = re.compile(r"[\\^_]")
_ALIGNED = re.compile(r'style="text-align: (left|right);[^"]*"')

_MACROS = {"AA": r"\text{Å}", "dotsc": r"\ldots", "dotsm": r"\cdots", "cfrac": r"\dfrac"}
"""Replacements for commands that problems use and the converter does not support."""

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


class _Candidate(NamedTuple):
    """A part of a text that may be a formula, with its position."""

    start: int
    end: int
    latex: str
    display: bool


def typeset(text: str) -> SafeString:
    """The text as HTML with its formulas as MathML; empty if no formula can be converted.

    Line breaks and spaces stay as they are, so the result needs `white-space: pre-wrap`.
    """
    if len(text) > MAX_TEXT_CHARACTERS or not any(sign in text for sign in ("$", "\\", CORRECT_ANSWER)):
        return SafeString("")
    parts, place = [], 0
    for candidate in _formulas(text):
        mathml = _mathml(candidate.latex, candidate.display)
        if mathml:
            parts += [_plain(text[place : candidate.start]), mathml]
            place = candidate.end
    return mark_safe("".join([*parts, _plain(text[place:])]) if parts else "")  # noqa: S308 (escaped and cleaned)


def formula(latex: str, display: bool) -> SafeString:
    """One formula as MathML, or its source between dollar signs if it cannot be converted."""
    sign = "$$" if display else "$"
    return mark_safe(_mathml(latex, display) or _plain(f"{sign}{latex}{sign}"))  # noqa: S308 (escaped and cleaned)


def answer(action: str) -> SafeString:
    r"""The content of the last `\boxed{}` of an action as MathML; empty if it is not a formula."""
    boxed = extract_last_boxed_answer(action) or ""
    return mark_safe(_mathml(boxed, False) if _COMMAND.search(boxed) else "")  # noqa: S308 (cleaned)


def _formulas(text: str) -> Iterator[_Candidate]:
    """The candidates for formulas, from left to right; the converter decides which of them are formulas."""
    place = tries = 0
    while tries < MAX_FORMULAS and (match := _FORMULA.search(text, place)):
        start, place = match.span()
        kind = next(name for name in ("escaped", "boxed", *_KINDS) if match[name] is not None)
        tries += kind != "escaped"
        if kind == "boxed":
            place = _end_of_group(text, place)
            if _MATHEMATICS.search(text, match.end(), place):
                yield _Candidate(start, place, text[start:place], False)
        elif kind == "inline" and not _is_formula(match[kind]):
            place = start + 1
        elif kind == "reference":
            yield _Candidate(start, place, match[kind].replace(" or ", r"\text{ or }"), False)
        elif kind != "escaped":
            yield _Candidate(start, place, match[kind], kind in ("display", "square", "environment"))


def _is_formula(latex: str) -> bool:
    """Whether the text between two dollar signs is a formula, and not the words between two prices."""
    words = any(letter.isspace() for letter in latex) and _WORD.search(latex)
    return "\n\n" not in latex and (_MATHEMATICS.search(latex) is not None or not words)


def _end_of_group(text: str, place: int) -> int:
    """The end of the group in braces that begins at `place`; `place` itself if the group has no end."""
    depth = 0
    for brace in _BRACE.finditer(text, place, place + MAX_FORMULA_CHARACTERS):
        depth += 1 if brace[0] == "{" else -1
        if depth == 0:
            return brace.end()
    return place


def _plain(text: str) -> str:
    return str(escape(text.replace("\\$", "$")))


@lru_cache(4096)
def _mathml(latex: str, display: bool) -> str:
    """The formula as sanitized MathML; empty if the converter does not support all of it."""
    convert = _converter()
    if convert is None or not _is_bounded(latex):
        return ""
    mathml = convert(_TAG.sub(r"\\qquad\\text{(\1)}", latex), display)
    return nh3.clean(_ALIGNED.sub(r'class="\1"', mathml), tags=TAGS, attributes=ATTRIBUTES) if mathml else ""


def _is_bounded(latex: str) -> bool:
    depth = deepest = 0
    for letter in latex[: MAX_FORMULA_CHARACTERS + 1]:
        depth += (letter == "{") - (letter == "}")
        deepest = max(deepest, depth)
    is_small = len(latex) <= MAX_FORMULA_CHARACTERS and deepest <= MAX_DEPTH
    return is_small and len(_OPENER.findall(latex)) <= MAX_OPENERS and _DEFINES.search(latex) is None


@cache
def _converter() -> Any:
    """A function from LaTeX and display mode to MathML (empty for invalid LaTeX); None without the package."""
    try:
        from math_core import LatexError, LatexToMathML  # noqa: PLC0415 (no wheel on some machines)
    except ImportError:
        return None
    lock, converter = (
        threading.Lock(),
        LatexToMathML(fancy_error=False, allow_unreliable_rendering=True, macros=_MACROS),
    )

    def convert(latex: str, display: bool) -> str:
        try:
            with lock:  # the converter fails if two threads use it at once
                return str(converter.convert_with_local_state(latex, displaystyle=display))
        except LatexError:
            return ""

    return convert
