r"""Parses and evaluates formulas without SymPy, in LaTeX or plain notation: numbers, roots, powers, functions.

A formula that is not understood raises `NotUnderstood` and is never guessed; then SymPy, which is slower, decides. What
is read here is what SymPy takes a hundred times as long for, or grades otherwise than the tests fix: factorials, which
it grades alike, are left to it.
"""

from __future__ import annotations

import cmath
import math
import operator
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache

Value = Fraction | complex
Node = tuple[str, ...] | tuple[object, ...]

MAX_BITS = 4_000
"""The largest number of bits of an exact number, numerator and denominator together."""
MAX_DEPTH = 40
"""The deepest nesting of a formula."""

_TOKEN = re.compile(
    r"(?P<number>(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d{1,3}(?![\da-zA-Z.]))?)|(?P<command>\\[a-zA-Z]+|\\[{}|])"
    r"|(?P<word>(?:sqrt|arcsin|arccos|arctan|sin|cos|tan|cot|sec|csc|log|ln|exp|pi)(?![a-z]))"
    r"|(?P<letter>[a-zA-Z])|(?P<sign>\*\*|[-+*/^_!()\[\]{}|])|(?P<space>\s+)"
)
NAMES = frozenset({
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "lambda", "mu", "nu",
    "xi", "rho", "sigma", "tau", "phi", "chi", "psi", "omega", "Gamma", "Delta", "Theta", "Lambda", "Xi", "Sigma",
    "Phi", "Psi", "Omega", "hbar", "ell", "infty",
})  # fmt: skip
"""Commands that are names of variables. Infinity is one of them, so that the ends of intervals can be compared."""


class NotUnderstood(Exception):
    """The text is not a formula that can be parsed here, or the formula cannot be evaluated."""


@lru_cache(maxsize=4096)
def parse(text: str) -> Node:
    """Parse a tidied formula (see `latex.tidy`) into a tree.

    Raises:
        NotUnderstood: if it cannot be parsed.
    """
    parser = _Parser(text)
    tree = parser.sum()
    if parser.current[0] != "end":
        raise NotUnderstood(text)
    return tree


def variables(tree: Node) -> frozenset[str]:
    """The names of the variables in a formula."""
    if tree[0] == "name":
        return frozenset({str(tree[1])})
    names: frozenset[str] = frozenset()
    for part in tree[1:]:
        if isinstance(part, tuple):
            names |= variables(part)
    return names


def evaluate(tree: Node, values: Mapping[str, complex]) -> Value:
    """The value of a formula for these values of its variables; exact if it is rational.

    Raises:
        NotUnderstood: if it has no value there, or a number gets too long.
    """
    try:
        return _evaluate(tree, values)
    except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
        raise NotUnderstood(str(error)) from error


class _Parser:
    """A recursive-descent parser."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        position = 0
        while position < len(text):
            match = _TOKEN.match(text, position)
            if match is None:
                raise NotUnderstood(text)
            kind = str(match.lastgroup)
            if kind != "space":
                self.tokens.append((kind, match[0]))
            position = match.end()
        self.tokens.append(("end", ""))
        self.position = 0
        self.depth = 0

    @property
    def current(self) -> tuple[str, str]:
        return self.tokens[self.position]

    def next(self) -> tuple[str, str]:
        token = self.tokens[self.position]
        if token[0] == "end":
            raise NotUnderstood("it ends too early")
        self.position += 1
        return token

    def accept(self, *texts: str) -> str:
        """Consume the next token if it is one of these, and return it; otherwise return an empty string."""
        if self.current[0] != "end" and self.current[1] in texts:
            return self.next()[1]
        return ""

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise NotUnderstood(f"{text} is missing")

    def sum(self) -> Node:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise NotUnderstood("too deep")
        tree = self.product()
        while sign := self.accept("+", "-"):
            tree = (sign, tree, self.product())
        self.depth -= 1
        return tree

    def product(self) -> Node:
        tree = self.signed()
        while True:
            if sign := self.accept("*", "/"):
                tree = (sign, tree, self.signed())
            elif self.begins_factor():
                if self.current[0] == "number" and self.tokens[self.position - 1][0] == "number":
                    raise NotUnderstood("two numbers side by side")
                tree = ("*", tree, self.power())
            else:
                return tree

    def begins_factor(self) -> bool:
        kind, text = self.current
        return (
            kind in ("number", "letter", "word")
            or text in ("(", "[", "{")
            or (kind == "command" and text[1:].isalpha())
        )

    def signed(self) -> Node:
        if self.accept("-"):
            return ("neg", self.signed())
        if self.accept("+"):
            return self.signed()
        return self.power()

    def power(self) -> Node:
        tree = self.atom()
        if self.accept("^", "**"):
            tree = ("^", tree, self.exponent())
        return tree

    def exponent(self) -> Node:
        return self.braced() if self.current[1] == "{" else self.signed()

    def braced(self) -> Node:
        self.expect("{")
        tree = self.sum()
        self.expect("}")
        return tree

    def atom(self) -> Node:
        kind, text = self.next()
        if kind == "number":
            mixed = self.mixed(text)
            return mixed if mixed is not None else ("number", Fraction(text))
        if kind == "letter":
            return self.name(text)
        if text in _CLOSING:
            tree = self.sum()
            self.expect(_CLOSING[text])
            return tree
        if kind in ("command", "word"):
            return self.command(text.removeprefix("\\"))
        raise NotUnderstood(text)

    def mixed(self, whole: str) -> Node | None:
        r"""Parse a mixed number such as `3\frac{1}{2}`, which is a sum and not a product; None if there is none."""
        ahead = self.tokens[self.position : self.position + 7]
        if [text for _, text in ahead[:2]] != ["\\frac", "{"] or not whole.isdigit():
            return None
        if [kind for kind, _ in ahead[2::3]] != ["number", "number"] or [t for _, t in ahead[3:5]] != ["}", "{"]:
            return None
        self.next()
        above, below = self.braced(), self.braced()
        return ("+", ("number", Fraction(whole)), ("/", above, below))

    def name(self, text: str) -> Node:
        if self.accept("_"):
            kind, index = self.next()
            if index == "{":
                parts = []
                while (token := self.next())[1] != "}":
                    parts.append(token[1])
                index = "".join(parts)
            elif kind not in ("number", "letter"):
                raise NotUnderstood(index)
            text = f"{text}_{index}"
        if [token for _, token in self.tokens[self.position : self.position + 3 : 2]] == ["(", ")"]:
            raise NotUnderstood(f"{text}(...), which may be a function")
        return ("name", text) if text not in _CONSTANTS else ("constant", text)

    def command(self, name: str) -> Node:
        if name == "frac":
            return ("/", self.braced(), self.braced())
        if name == "sqrt":
            if self.accept("["):
                degree = self.sum()
                self.expect("]")
                return ("root", self.braced(), degree)
            return ("sqrt", self.braced() if self.current[1] == "{" else self.atom())
        if name in _FUNCTIONS or name == "log":
            return self.function(name)
        if name == "pi":
            return ("constant", "pi")
        if name in NAMES:
            return self.name(name)
        raise NotUnderstood(name)

    def function(self, name: str) -> Node:
        base: Node | None = None
        if name == "log" and self.accept("_"):
            base = self.braced() if self.current[1] == "{" else self.atom()
        power = self.exponent() if self.accept("^") else None
        if power == ("neg", ("number", Fraction(1))):
            raise NotUnderstood("an inverse or a reciprocal")
        argument = self.argument()
        tree: Node = ("call", "ln" if name == "log" else name, argument)
        if base is not None:
            tree = ("/", tree, ("call", "ln", base))
        return tree if power is None else ("^", tree, power)

    def argument(self) -> Node:
        """Parse the argument of a function: brackets, or all factors up to the next sign or function."""
        if self.current[1] in _CLOSING:
            return self.power()
        tree = self.signed()
        while self.current[0] in ("letter", "number") or self.current[1] in ("\\pi", "\\theta", "\\frac"):
            tree = ("*", tree, self.power())
        return tree


_CLOSING = {"(": ")", "[": "]", "{": "}"}
_CONSTANTS: Mapping[str, complex] = {"pi": math.pi, "e": math.e, "i": 1j}


def _reciprocal(function: Callable[[complex], complex]) -> Callable[[complex], complex]:
    return lambda value: 1 / function(value)


_FUNCTIONS: Mapping[str, Callable[[complex], complex]] = {
    "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "ln": cmath.log, "exp": cmath.exp, "arcsin": cmath.asin,
    "arccos": cmath.acos, "arctan": cmath.atan, "sinh": cmath.sinh, "cosh": cmath.cosh, "tanh": cmath.tanh,
    "cot": _reciprocal(cmath.tan), "sec": _reciprocal(cmath.cos), "csc": _reciprocal(cmath.sin),
}  # fmt: skip


def _evaluate(tree: Node, values: Mapping[str, complex]) -> Value:
    match tree:
        case ("number", Fraction() as number):
            return number
        case ("constant", str(name)):
            return _CONSTANTS[name]
        case ("name", str(name)):
            return values[name]
        case ("call", str(name), tuple(part)):
            return _FUNCTIONS[name](complex(_evaluate(part, values)))
        case (str(sign), tuple(part)):
            return _SIGNS[sign](_evaluate(part, values))
        case (str(sign), tuple(left), tuple(right)):
            return _bounded(_OPERATIONS[sign](_evaluate(left, values), _evaluate(right, values)))
    raise NotUnderstood(str(tree))


def _bounded(value: Value) -> Value:
    if isinstance(value, Fraction) and value.numerator.bit_length() + value.denominator.bit_length() > MAX_BITS:
        raise NotUnderstood("too long a number")
    return value


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(exponent, Fraction) and isinstance(base, Fraction):
        if exponent.denominator == 1:
            size = max(base.numerator.bit_length(), base.denominator.bit_length())
            if size * abs(exponent.numerator) > MAX_BITS:
                raise NotUnderstood("too large a power")
            return base**exponent.numerator
        if exponent == Fraction(1, 2) and base >= 0:
            above, below = math.isqrt(base.numerator), math.isqrt(base.denominator)
            if above * above == base.numerator and below * below == base.denominator:
                return Fraction(above, below)
    return complex(base) ** complex(exponent)


def _root(value: Value, degree: Value) -> Value:
    """The root of a value. For a negative number and an odd degree it is the real root."""
    if not isinstance(degree, Fraction) or degree.denominator != 1 or degree < 1:
        raise NotUnderstood("a root of another degree")
    number = complex(value)
    if degree % 2 == 1 and number.imag == 0 and number.real < 0:
        return -complex((-number.real) ** (1 / float(degree)))
    return number ** (1 / float(degree))


_SIGNS: Mapping[str, Callable[[Value], Value]] = {
    "neg": lambda value: -value,
    "sqrt": lambda value: _power(value, Fraction(1, 2)),
}
_OPERATIONS: Mapping[str, Callable[[Value, Value], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": _power,
    "root": _root,
}
