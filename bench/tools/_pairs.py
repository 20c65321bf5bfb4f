"""Pairs of an answer and a reference, made from references alone: rewritten ones that are right, changed ones that are
wrong, and some of which one cannot say beforehand. What they are worth is for graders to say."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from gem.rng import SplitMix64, choice, randbelow

INTEGER = re.compile(r"-?\d+")
PLAIN_FRACTION = re.compile(r"(-?)\\frac\{(\d+)\}\{(\d+)\}")
DIGIT = re.compile(r"\d")
LIST = re.compile(r"[-\d, ]+,[-\d, ]+")


class Pair(NamedTuple):
    """What an agent might answer to a problem with this reference."""

    kind: str
    answer: str
    reference: str


def pairs(references: Sequence[str], seed: int = 0) -> Iterator[Pair]:
    """Every rewriting and change that fits, of every reference; the same for the same seed."""
    for number, reference in enumerate(references):
        text = bare(reference)
        rng = SplitMix64(seed, number)
        for kind, change in {**REWRITINGS, **CHANGES}.items():
            changed = change(text, rng)
            if changed is not None and (changed != text or kind == "as it is"):
                yield Pair(kind, changed, text)
        yield Pair("another one's", bare(choice(rng, references)), text)


def bare(reference: str) -> str:
    """A reference without the dollar signs around the whole of it."""
    text = reference.strip()
    inside = text[1:-1]
    return inside if text.startswith("$") and text.endswith("$") and "$" not in inside else text


Change = Callable[[str, SplitMix64], str | None]


def _when(condition: Callable[[str], object], change: Callable[[str], str]) -> Change:
    return lambda text, _: change(text) if condition(text) else None


def _is_integer(text: str) -> bool:
    return INTEGER.fullmatch(text) is not None and len(text) < 12


def _fraction(text: str, write: Callable[[Fraction], str | None]) -> str | None:
    found = PLAIN_FRACTION.fullmatch(text)
    if found is None or not int(found[3]):
        return None
    return write(Fraction(int(found[2]), int(found[3])) * (-1 if found[1] else 1))


def _terminating(value: Fraction) -> str | None:
    rest = value.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    return str(float(value)) if rest == 1 and value.denominator < 10_000 else None


def _one_digit(text: str, rng: SplitMix64) -> str | None:
    places = [found.start() for found in DIGIT.finditer(text)]
    if not places:
        return None
    place = choice(rng, places)
    return text[:place] + str((int(text[place]) + 1 + randbelow(rng, 8)) % 10) + text[place + 1 :]


def _one_sign(text: str, rng: SplitMix64) -> str | None:
    places = [at for at, sign in enumerate(text) if sign in "+-" and at]
    if not places:
        return None
    place = choice(rng, places)
    return text[:place] + ("-" if text[place] == "+" else "+") + text[place + 1 :]


def _one_letter(text: str, rng: SplitMix64) -> str | None:
    places = [found.start() for found in re.finditer(r"(?<![a-zA-Z\\])[a-df-hj-z](?![a-zA-Z])", text)]
    if not places or "\\text" in text:
        return None
    place = choice(rng, places)
    return text[:place] + ("q" if text[place] != "q" else "w") + text[place + 1 :]


def _turned(text: str) -> str:
    return ",".join(reversed(text.split(",")))


REWRITINGS: dict[str, Change] = {
    "as it is": lambda text, _: text,
    "in dollars": _when(lambda text: "$" not in text, lambda text: f"${text}$"),
    "with a full stop": _when(lambda text: "$" not in text, lambda text: f"${text}$."),
    "spaces": _when(lambda text: "+" in text or "," in text, lambda t: t.replace("+", " + ").replace(",", ", ")),
    "dfrac": _when(lambda text: "\\frac" in text, lambda text: text.replace("\\frac", "\\dfrac")),
    "left and right": _when(
        lambda text: text[:1] == "(" and text[-1:] == ")", lambda t: "\\left" + t[:-1] + "\\right" + t[-1]
    ),
    "sum": _when(_is_integer, lambda text: f"{int(text) - 7}+7"),
    "product": _when(_is_integer, lambda text: f"\\frac{{{int(text) * 6}}}{{6}}"),
    "decimal point": _when(_is_integer, lambda text: f"{int(text)}.0"),
    "power": _when(lambda text: _is_integer(text) and int(text) >= 0, lambda text: f"\\sqrt{{{int(text) ** 2}}}"),
    "thousands": _when(lambda text: _is_integer(text) and abs(int(text)) > 999, lambda text: f"{int(text):,}"),
    "slash": lambda text, _: _fraction(text, lambda value: f"{value.numerator}/{value.denominator}"),
    "decimal": lambda text, _: _fraction(text, _terminating),
    "not reduced": lambda text, _: _fraction(
        text, lambda value: f"\\frac{{{value.numerator * 3}}}{{{value.denominator * 3}}}"
    ),
    "other order": _when(LIST.fullmatch, _turned),
    "root as a power": _when(
        lambda text: re.fullmatch(r"[^{}]*\\sqrt\{\d+\}", text), lambda t: re.sub(r"\\sqrt\{(\d+)\}", r"\1^{1/2}", t)
    ),
    "plus zero": _when(lambda text: "\\frac" in text and "," not in text and "=" not in text, lambda t: t + "+0"),
    "named": _when(lambda text: not re.search(r"[=,<>]|\\(?:le|ge|in|text)", text), lambda text: "x=" + text),
}
CHANGES: dict[str, Change] = {
    "one more": _when(_is_integer, lambda text: str(int(text) + 1)),
    "negated": _when(lambda text: _is_integer(text) and int(text), lambda text: str(-int(text))),
    "tenfold": _when(lambda text: _is_integer(text) and int(text), lambda text: str(int(text) * 10)),
    "off by a half": _when(_is_integer, lambda text: f"\\frac{{{int(text) * 2 + 1}}}{{2}}"),
    "another digit": _one_digit,
    "another sign": _one_sign,
    "another letter": _one_letter,
    "upside down": lambda text, _: _fraction(
        text, lambda value: f"\\frac{{{value.denominator}}}{{{value.numerator}}}" if value > 0 else None
    ),
    "one missing": _when(LIST.fullmatch, lambda text: text.rpartition(",")[0]),
    "closed instead of open": _when(
        lambda text: text[:1] == "(" and text[-1:] == ")", lambda text: "[" + text[1:-1] + "]"
    ),
    "times x": _when(lambda text: "," not in text and "\\text" not in text and "=" not in text, lambda t: f"({t})x"),
    "words": lambda _text, _: "I do not know",
}
