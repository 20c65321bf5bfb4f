r"""Says whether a formula is small enough for SymPy, from its text alone and in time linear in its length.

    is_small("$9^{9^{9^{9}}}$")      # False: SymPy would compute a number that no computer can hold
    is_small("$9^{9^{x}}$")          # True: nothing is computed

SymPy computes powers, factorials, sums and products of numbers as soon as it reads them, and expands powers of sums
when it compares. So the size of every number is estimated from above before that, as its bits; names of variables keep
a power from being computed. What is small here can still take long, and then the judge's time limit ends it.
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
"""The largest number of steps of a sum or product."""
MAX_TERMS = 10_000
"""The largest number of terms of a power of a sum."""
MAX_BIG_OPERATORS = 3
"""The largest number of sums, products and integrals."""

_WORD = re.compile(r"\\[a-zA-Z]+|\\.|\d+(?:\.\d+)?|\.\d+|[a-zA-Z]|\*\*|\S", re.DOTALL)
_LARGE_EXPONENT = re.compile(r"\d[eE][-+]?\d{4}")
_OPENING = {"{": "}", "(": ")", "[": "]", "\\{": "\\}"}
_CLOSING = frozenset(_OPENING.values())
_CONSTANTS = frozenset({"e", "i", "\\pi"})
_RANGES = frozenset({"\\sum", "\\prod"})
_BIG_OPERATORS = _RANGES | {"\\int", "\\iint", "\\iiint", "\\oint", "\\bigcup", "\\bigcap", "\\lim"}
_BINOMIALS = frozenset({"\\binom", "\\dbinom", "\\tbinom"})
_EXPONENTIALS = frozenset({"\\exp", "\\sinh", "\\cosh"})
_VARIABLES = frozenset("\\" + name for name in NAMES)
_SPACES = frozenset({"\\,", "\\!", "\\;", "\\:", "\\ ", "\\\\", "\\left", "\\right", "\\displaystyle", "$", "&"})


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
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _TooLarge
        total, term, size = 0.0, 0.0, _Size(terms=1)
        left: float | None = None
        while self.current and self.current != closing and not (self.current in _CLOSING and not closing):
            word = self.current
            if word in ("+", "-", ",", ";", "=", "<", ">"):
                self.position += 1
                total, term = max(total, term) + 1, 0.0
                size.terms += word in "+-"
            elif word == "\\choose":
                self.position += 1
                left, total, term = max(total, term), 0.0, 0.0
            else:
                part = self.powers()
                term += part.bits
                size.variables |= part.variables
        size.bits = max(total, term)
        if left is not None:
            size = _binomial(_Size(left), size)
        self.depth -= 1
        return _checked(size)

    def powers(self) -> _Size:
        """The size of one item with everything that is attached to it: factorials, an index, an exponent."""
        word = self.current
        if word in _BIG_OPERATORS:
            return self.big_operator()
        base = self.item()
        while self.current in ("!", "_", "^", "**"):
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
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _TooLarge
        while self.current in ("+", "-") and self.current:
            self.position += 1
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
            return _Size(2.0)
        if word in _VARIABLES or word.isalpha():
            return _Size(1.0, frozenset({word}))
        if word in _BINOMIALS:
            return _binomial(self.item(), self.item())
        if word in _EXPONENTIALS:
            return _power(_Size(2.0), self.exponent())
        return _Size()

    def big_operator(self) -> _Size:
        """A sum, a product or an integral with its limits."""
        is_range = self.current in _RANGES
        self.position += 1
        self.num_operators += 1
        if self.num_operators > MAX_BIG_OPERATORS:
            raise _TooLarge
        while self.current in ("_", "^"):
            self.position += 1
            limit = self.item()
            if is_range and limit.value > MAX_RANGE:
                raise _TooLarge
        return _Size()


def _number(text: str) -> _Size:
    if len(text) > MAX_NUMBER_CHARS:
        raise _TooLarge
    whole, _, decimals = text.partition(".")
    return _Size(math.log2(int(whole + decimals or "0") + 2) if decimals else math.log2(int(whole) + 1))


def _power(base: _Size, exponent: _Size) -> _Size:
    variables = base.variables | exponent.variables
    if exponent.variables:
        return _checked(_Size(base.bits + exponent.bits, variables))
    if base.variables and base.terms > 1:
        degree = min(int(exponent.value), MAX_TERMS)
        if math.comb(degree + min(base.terms, len(base.variables) + 1) - 1, degree) > MAX_TERMS:
            raise _TooLarge
    return _checked(_Size(max(base.bits, 1.0) * exponent.value, variables))


def _factorial(size: _Size) -> _Size:
    return size if size.variables else _checked(_Size(size.bits * size.value))


def _binomial(above: _Size, below: _Size) -> _Size:
    variables = above.variables | below.variables
    if variables:
        return _Size(above.bits + below.bits, variables)
    return _checked(_Size((above.bits + 1) * min(above.value, below.value)))


def _checked(size: _Size) -> _Size:
    if size.bits > MAX_BITS:
        raise _TooLarge
    return size
