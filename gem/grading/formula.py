r"""Formulas in LaTeX or as people type them, read and worked out without SymPy: numbers, roots, powers, functions.

What is not understood here is said so by `NotUnderstood`, never guessed: somebody slower looks at it then.
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

MOST_BITS = 4_000
"""Exact numbers may get this long."""
DEEPEST = 40

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
"""Commands that are names; infinity is one, so that the ends of intervals can be compared."""


class NotUnderstood(Exception):
    """This is no formula of the kinds that are read here, or it cannot be worked out."""


@lru_cache(maxsize=4096)
def parse(text: str) -> Node:
    """The tree of a tidied formula (see `latex.tidy`).

    Raises:
        NotUnderstood: if it is none.
    """
    reader = _Reader(text)
    tree = reader.sum()
    if reader.here[0] != "end":
        raise NotUnderstood(text)
    return tree


def variables(tree: Node) -> frozenset[str]:
    """The names in a formula that stand for no number."""
    if tree[0] == "name":
        return frozenset({str(tree[1])})
    found: frozenset[str] = frozenset()
    for part in tree[1:]:
        if isinstance(part, tuple):
            found |= variables(part)
    return found


def evaluate(tree: Node, at: Mapping[str, complex]) -> Value:
    """The value of a formula, exact as long as it is rational, with these values for its variables.

    Raises:
        NotUnderstood: if it has none there, or numbers get too long.
    """
    try:
        return _evaluate(tree, at)
    except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
        raise NotUnderstood(str(error)) from error


class _Reader:
    """A recursive descent over the tokens."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                raise NotUnderstood(text)
            kind = str(found.lastgroup)
            if kind != "space":
                self.tokens.append((kind, found[0]))
            place = found.end()
        self.tokens.append(("end", ""))
        self.place = 0
        self.depth = 0

    @property
    def here(self) -> tuple[str, str]:
        return self.tokens[self.place]

    def next(self) -> tuple[str, str]:
        token = self.tokens[self.place]
        if token[0] == "end":
            raise NotUnderstood("it ends too early")
        self.place += 1
        return token

    def skip(self, *texts: str) -> str:
        """Take the next token if it is one of these."""
        if self.here[0] != "end" and self.here[1] in texts:
            return self.next()[1]
        return ""

    def need(self, text: str) -> None:
        if not self.skip(text):
            raise NotUnderstood(f"{text} is missing")

    def sum(self) -> Node:
        self.depth += 1
        if self.depth > DEEPEST:
            raise NotUnderstood("too deep")
        tree = self.product()
        while sign := self.skip("+", "-"):
            tree = (sign, tree, self.product())
        self.depth -= 1
        return tree

    def product(self) -> Node:
        tree = self.signed()
        while True:
            if sign := self.skip("*", "/"):
                tree = (sign, tree, self.signed())
            elif self.begins_factor():
                if self.here[0] == "number" and self.tokens[self.place - 1][0] == "number":
                    raise NotUnderstood("two numbers side by side")
                tree = ("*", tree, self.power())
            else:
                return tree

    def begins_factor(self) -> bool:
        kind, text = self.here
        return (
            kind in ("number", "letter", "word")
            or text in ("(", "[", "{")
            or (kind == "command" and text[1:].isalpha())
        )

    def signed(self) -> Node:
        if self.skip("-"):
            return ("neg", self.signed())
        if self.skip("+"):
            return self.signed()
        return self.power()

    def power(self) -> Node:
        tree = self.atom()
        while self.skip("!"):
            tree = ("!", tree)
        if self.skip("^", "**"):
            tree = ("^", tree, self.exponent())
        return tree

    def exponent(self) -> Node:
        return self.braced() if self.here[1] == "{" else self.signed()

    def braced(self) -> Node:
        self.need("{")
        tree = self.sum()
        self.need("}")
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
            self.need(_CLOSING[text])
            return tree
        if kind in ("command", "word"):
            return self.command(text.removeprefix("\\"))
        raise NotUnderstood(text)

    def mixed(self, whole: str) -> Node | None:
        r"""A mixed number such as `3\frac{1}{2}`, which is a sum and no product."""
        ahead = self.tokens[self.place : self.place + 7]
        if [text for _, text in ahead[:2]] != ["\\frac", "{"] or not whole.isdigit():
            return None
        if [kind for kind, _ in ahead[2::3]] != ["number", "number"] or [t for _, t in ahead[3:5]] != ["}", "{"]:
            return None
        self.next()
        above, below = self.braced(), self.braced()
        return ("+", ("number", Fraction(whole)), ("/", above, below))

    def name(self, text: str) -> Node:
        if self.skip("_"):
            kind, index = self.next()
            if index == "{":
                parts = []
                while (token := self.next())[1] != "}":
                    parts.append(token[1])
                index = "".join(parts)
            elif kind not in ("number", "letter"):
                raise NotUnderstood(index)
            text = f"{text}_{index}"
        if [token for _, token in self.tokens[self.place : self.place + 3 : 2]] == ["(", ")"]:
            raise NotUnderstood(f"{text}(...), which may be a function")
        return ("name", text) if text not in _CONSTANTS else ("constant", text)

    def command(self, name: str) -> Node:
        if name == "frac":
            return ("/", self.braced(), self.braced())
        if name == "binom":
            return ("binom", self.braced(), self.braced())
        if name == "sqrt":
            if self.skip("["):
                degree = self.sum()
                self.need("]")
                return ("root", self.braced(), degree)
            return ("sqrt", self.braced() if self.here[1] == "{" else self.atom())
        if name in _FUNCTIONS or name == "log":
            return self.function(name)
        if name == "pi":
            return ("constant", "pi")
        if name in NAMES:
            return self.name(name)
        raise NotUnderstood(name)

    def function(self, name: str) -> Node:
        base: Node | None = None
        if name == "log" and self.skip("_"):
            base = self.braced() if self.here[1] == "{" else self.atom()
        power = self.exponent() if self.skip("^") else None
        if power == ("neg", ("number", Fraction(1))):
            raise NotUnderstood("an inverse or a reciprocal")
        argument = self.argument()
        tree: Node = ("call", "ln" if name == "log" else name, argument)
        if base is not None:
            tree = ("/", tree, ("call", "ln", base))
        return tree if power is None else ("^", tree, power)

    def argument(self) -> Node:
        """What a function is applied to: brackets, or the factors up to the next sign or function."""
        if self.here[1] in _CLOSING:
            return self.power()
        tree = self.signed()
        while self.here[0] in ("letter", "number") or self.here[1] in ("\\pi", "\\theta", "\\frac"):
            tree = ("*", tree, self.power())
        return tree


_CLOSING = {"(": ")", "[": "]", "{": "}"}
_CONSTANTS: Mapping[str, complex] = {"pi": math.pi, "e": math.e, "i": 1j}


def _gamma(value: complex) -> complex:
    if abs(value.imag) > 1e-12:
        raise ValueError("the factorial of a complex number")
    return math.gamma(value.real + 1)


def _reciprocal(function: Callable[[complex], complex]) -> Callable[[complex], complex]:
    return lambda value: 1 / function(value)


_FUNCTIONS: Mapping[str, Callable[[complex], complex]] = {
    "sin": cmath.sin, "cos": cmath.cos, "tan": cmath.tan, "ln": cmath.log, "exp": cmath.exp, "arcsin": cmath.asin,
    "arccos": cmath.acos, "arctan": cmath.atan, "sinh": cmath.sinh, "cosh": cmath.cosh, "tanh": cmath.tanh,
    "cot": _reciprocal(cmath.tan), "sec": _reciprocal(cmath.cos), "csc": _reciprocal(cmath.sin),
}  # fmt: skip


def _evaluate(tree: Node, at: Mapping[str, complex]) -> Value:
    match tree:
        case ("number", Fraction() as number):
            return number
        case ("constant", str(name)):
            return _CONSTANTS[name]
        case ("name", str(name)):
            return at[name]
        case ("call", str(name), tuple(part)):
            return _FUNCTIONS[name](complex(_evaluate(part, at)))
        case (str(sign), tuple(part)):
            return _SIGNS[sign](_evaluate(part, at))
        case (str(sign), tuple(left), tuple(right)):
            return _bounded(_OPERATIONS[sign](_evaluate(left, at), _evaluate(right, at)))
    raise NotUnderstood(str(tree))


def _bounded(value: Value) -> Value:
    if isinstance(value, Fraction) and value.numerator.bit_length() + value.denominator.bit_length() > MOST_BITS:
        raise NotUnderstood("too long a number")
    return value


def _power(base: Value, exponent: Value) -> Value:
    if isinstance(exponent, Fraction) and isinstance(base, Fraction):
        if exponent.denominator == 1:
            size = max(base.numerator.bit_length(), base.denominator.bit_length())
            if size * abs(exponent.numerator) > MOST_BITS:
                raise NotUnderstood("too large a power")
            return base**exponent.numerator
        if exponent == Fraction(1, 2) and base >= 0:
            above, below = math.isqrt(base.numerator), math.isqrt(base.denominator)
            if above * above == base.numerator and below * below == base.denominator:
                return Fraction(above, below)
    return complex(base) ** complex(exponent)


def _root(value: Value, degree: Value) -> Value:
    """The real root of a negative number where the degree is odd."""
    if not isinstance(degree, Fraction) or degree.denominator != 1 or degree < 1:
        raise NotUnderstood("a root of another degree")
    number = complex(value)
    if degree % 2 == 1 and number.imag == 0 and number.real < 0:
        return -complex((-number.real) ** (1 / float(degree)))
    return number ** (1 / float(degree))


def _factorial(value: Value) -> Value:
    if isinstance(value, Fraction) and value.denominator == 1:
        if not 0 <= value <= 300:
            raise NotUnderstood("the factorial of such a number")
        return Fraction(math.factorial(value.numerator))
    return _gamma(complex(value))


def _binomial(above: Value, below: Value) -> Value:
    return _factorial(above) / (_factorial(below) * _factorial(above - below))


_SIGNS: Mapping[str, Callable[[Value], Value]] = {
    "neg": lambda value: -value,
    "!": _factorial,
    "sqrt": lambda value: _power(value, Fraction(1, 2)),
}
_OPERATIONS: Mapping[str, Callable[[Value, Value], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": _power,
    "root": _root,
    "binom": _binomial,
}
