r"""Says whether a formula is small enough for SymPy, from its text alone and in time linear in its length.

    is_small("$9^{9^{9^{9}}}$")      # False: SymPy would compute a number that no computer can hold
    is_small("$9^{9^{x}}$")          # True: nothing is computed

SymPy computes powers, factorials, sums and products of numbers as soon as it reads them, and expands powers of sums
when it compares. So the size of every number is estimated from above before that, as its bits. Variables may cancel
out, as in `9^{x-x+9999999999}`, so they count as 1; those in the body of a sum or product, as its largest index. What
is small here can still take long, and then the judge's time limit ends it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from gem.grading.formula import NAMES

MAX_BITS = 50_000
"""The largest number of bits of a number; text of more than 4,300 digits is no number for Python."""
MAX_DEPTH = 30
"""The deepest nesting of brackets and exponents, and the longest chain of roots, functions or signs."""
MAX_NUMBER_CHARS = 1_000
"""The longest number."""
MAX_RANGE = 10_000
"""The largest number of steps of a sum or product, nested ones multiplied."""
MAX_TERMS = 10_000
"""The largest number of terms of a power of a sum."""
MAX_BIG_OPERATORS = 3
"""The largest number of sums, products and integrals."""

_WORD = re.compile(r"\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|\.\d+|[a-zA-Z]|\*\*|\S", re.DOTALL)
_LARGE_EXPONENT = re.compile(r"\d[eE][-+]?\d{4}")
_OPENING = {
    "{": "}", "(": ")", "[": "]", "\\{": "\\}", "\\lfloor": "\\rfloor", "\\lceil": "\\rceil", "\\lvert": "\\rvert",
    "\\lVert": "\\rVert", "⌊": "⌋", "⌈": "⌉",
}  # fmt: skip
_CLOSING = frozenset(_OPENING.values())
_ARGUMENTS = frozenset("{([")
_BARS = frozenset({"|", "\\|", "\\vert", "\\Vert", "\\mid"})
_MARKS = frozenset({"!", "_", "^", "**"})
_SEPARATORS = frozenset("+-,;=<>")
_CONSTANTS = frozenset({"e", "i", "\\pi"})
_RANGES = frozenset({"\\sum", "\\prod"})
_BIG_OPERATORS = _RANGES | {"\\int", "\\iint", "\\iiint", "\\oint", "\\bigcup", "\\bigcap", "\\lim"}
_BINOMIALS = frozenset({"\\binom", "\\dbinom", "\\tbinom"})
_EXPONENTIALS = frozenset({"\\exp", "\\sinh", "\\cosh"})
_VARIABLES = frozenset("\\" + name for name in NAMES)
_SPACES = frozenset({
    "\\,", "\\!", "\\;", "\\:", "\\ ", "\\\\", "\\left", "\\right", "\\displaystyle", "\\limits", "\\nolimits",
    "$", "&", *(f"\\{size}{side}" for size in ("big", "Big", "bigg", "Bigg") for side in ("", "l", "m", "r")),
})  # fmt: skip


class _TooLarge(Exception):
    """The formula is not small."""


@dataclass(slots=True)
class _Size:
    """How large a part of a formula is at most."""

    bits: float = 0.0
    """The binary logarithm of its value."""
    variables: frozenset[str] = frozenset()
    terms: int = 1

    @property
    def value(self) -> float:
        return 2 ** min(self.bits, 64.0)


@lru_cache(maxsize=4096)
def is_small(text: str) -> bool:
    """Whether SymPy can be given this formula, in LaTeX or plain notation."""
    try:
        if _LARGE_EXPONENT.search(text):
            return False
        _Estimate(text).all()
    except _TooLarge:
        return False
    return True


class _Estimate:
    """Reads a formula once, from left to right. Text that is no formula is small: it is not computed either."""

    def __init__(self, text: str) -> None:
        self.words = [word for word in _WORD.findall(text) if word not in _SPACES]
        self.position = 0
        self.depth = 0
        self.num_operators = 0
        self.steps = 1.0
        """Steps of the sums and products around this place, multiplied."""
        self.variable_bits = 0.0
        """The binary logarithm of the largest index of those."""
        self._check_chains()

    def all(self) -> None:
        """Read to the end, past brackets that close nothing."""
        while self.position < len(self.words):
            self.sequence("")
            self.position += 1

    @property
    def current(self) -> str:
        return self.words[self.position] if self.position < len(self.words) else ""

    def _check_chains(self) -> None:
        """Refuse long chains of prefixes, which a parser reads as deep as brackets."""
        length = 0
        for word in self.words:
            is_prefix = word in "+-" or (word[0] == "\\" and word[1:].isalpha() and word not in _VARIABLES)
            length = length + 1 if is_prefix else 0
            if length > MAX_DEPTH:
                raise _TooLarge

    def sequence(self, closing: str) -> _Size:
        """The size of everything up to `closing` or the end; the terms of a sum, each a product."""
        self._descend()
        total, size = 0.0, _Size(terms=1)
        term = _Size()
        left: float | None = None
        while not self._ends(closing):
            word = self.current
            if word in _SEPARATORS:
                self.position += 1
                total, term = max(total, term.bits) + 1, _Size()
                size.terms += word in "+-"
            elif word == "\\choose":
                self.position += 1
                left, total, term = max(total, term.bits), 0.0, _Size()
            else:
                term = self.product(closing, max(total, term.bits))
                size.variables |= term.variables
        size.bits = max(total, term.bits)
        if left is not None:
            size = _binomial(_Size(left), size)
        self.depth -= 1
        return _checked(size)

    def product(self, closing: str, bits: float) -> _Size:
        """The size of everything up to the next sign or `closing`.

        Args:
            bits: the size of what comes before in the same brackets, all of which may be between two bars.
        """
        size = _Size()
        while not (self._ends(closing) or self.current in _SEPARATORS or self.current == "\\choose"):
            if self.current in _BIG_OPERATORS:
                part = self.big_operator(closing)
            else:
                part = self.powers(_Size(max(bits, size.bits), size.variables))
            size = _Size(size.bits + part.bits, size.variables | part.variables)
        return size

    def powers(self, before: _Size | None = None) -> _Size:
        """The size of one item with everything that is attached to it: factorials, an index, an exponent.

        Args:
            before: what comes before it, and is between bars if it is one. Without it, a bar begins something.
        """
        is_bar = self.current in _BARS
        base = self.item()
        if is_bar and before is None:
            base = self.sequence(self.words[self.position - 1])
            self.position += 1
        elif is_bar and self.current in _MARKS and before is not None:
            base = before
        while self.current in _MARKS:
            mark = self.current
            self.position += 1
            if mark == "!":
                base = _factorial(base)
            elif mark == "_":
                self.item()
            else:
                base = _power(base, self.exponent())
        return base

    def exponent(self) -> _Size:
        """An exponent, which may have one itself: the upper ones are computed first."""
        self._descend()
        self._skip_signs()
        size = self.powers()
        self.depth -= 1
        return size

    def item(self) -> _Size:
        """The size of a bracket, number, name or command; of a function, with its argument."""
        word = self.current
        self.position += 1
        if word in _OPENING:
            size = self.sequence(_OPENING[word])
            self.position += 1
            return size
        if word[:1].isdecimal() or (word[:1] == "." and len(word) > 1):
            return _number(word)
        if word in _CONSTANTS:
            return _Size(max(2.0, self.variable_bits))
        if word in _VARIABLES or word.isalpha():
            return _Size(self.variable_bits, frozenset({word}))
        if word in _BINOMIALS:
            return _binomial(self.item(), self.item())
        if word in _EXPONENTIALS:
            return _power(_Size(2.0), self.exponent())
        size = _Size()
        while word[:1] == "\\" and self.current in _ARGUMENTS:  # a command, such as a fraction or a root
            argument = self.item()
            size = _Size(
                size.bits + argument.bits, size.variables | argument.variables, max(size.terms, argument.terms)
            )
        return size

    def big_operator(self, closing: str) -> _Size:
        """A sum or product with its limits and its body; an integral with its limits."""
        operator = self.current
        self.position += 1
        self.num_operators += 1
        if self.num_operators > MAX_BIG_OPERATORS:
            raise _TooLarge
        steps = 1.0
        while self.current in ("_", "^"):
            self.position += 1
            steps = max(steps, self.item().value)
        if operator not in _RANGES:
            return _Size()
        around = self.steps, self.variable_bits
        self.steps, self.variable_bits = self.steps * steps, max(self.variable_bits, math.log2(steps))
        if self.steps > MAX_RANGE:
            raise _TooLarge
        self._descend()
        self._skip_signs()
        body = self.product(closing, 0.0)
        self.depth -= 1
        self.steps, self.variable_bits = around
        bits = body.bits * steps if operator == "\\prod" else body.bits + math.log2(steps)
        return _checked(_Size(bits, body.variables))

    def _ends(self, closing: str) -> bool:
        """Whether `closing` or the end is here; without `closing`, also what closes anything else."""
        return not self.current or self.current == closing or (self.current in _CLOSING and not closing)

    def _descend(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _TooLarge

    def _skip_signs(self) -> None:
        while self.current in ("+", "-") and self.current:
            self.position += 1


def _number(text: str) -> _Size:
    if len(text) > MAX_NUMBER_CHARS:
        raise _TooLarge
    whole, _, decimals = text.partition(".")
    return _Size(math.log2(int(whole + decimals or "0") + 2) if decimals else math.log2(int(whole) + 1))


def _power(base: _Size, exponent: _Size) -> _Size:
    if base.variables and base.terms > 1:
        degree = min(int(exponent.value), MAX_TERMS)
        if math.comb(degree + min(base.terms, len(base.variables) + 1) - 1, degree) > MAX_TERMS:
            raise _TooLarge
    bits = base.bits if exponent.variables else max(base.bits, 1.0)
    return _checked(_Size(bits * exponent.value, base.variables | exponent.variables))


def _factorial(size: _Size) -> _Size:
    return _checked(_Size(size.bits * size.value, size.variables))


def _binomial(above: _Size, below: _Size) -> _Size:
    return _checked(_Size((above.bits + 1) * min(above.value, below.value), above.variables | below.variables))


def _checked(size: _Size) -> _Size:
    if size.bits > MAX_BITS:
        raise _TooLarge
    return size
