"""Lines of a primer: sums, differences, products, comparisons, and how words are spelled. No environment says them in
this form, and none is mentioned."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import gem.data.words
from gem.rng import SplitMix64, choice, randbelow, randint

LINES_OF_A_PIECE = 6
SMALL, MIDDLE, LARGE = 12, 100, 1000


def primer(lines: int, seed: int) -> Iterator[list[str]]:
    """Pieces of some lines each."""
    words = Path(gem.data.words.__file__).with_name("common.txt").read_text(encoding="utf-8").split()
    for number in range(lines // LINES_OF_A_PIECE):
        draw = SplitMix64(seed, number)
        make = choice(draw, KINDS)
        yield ["".join(f"{make(draw, words)}\n" for _ in range(LINES_OF_A_PIECE))]


def _number(draw: SplitMix64) -> int:
    return randbelow(draw, choice(draw, (SMALL, MIDDLE, MIDDLE, LARGE)))


def _sum(draw: SplitMix64, _: Sequence[str]) -> str:
    a, b = _number(draw), _number(draw)
    return choice(draw, (f"{a} + {b} = {a + b}", f"{a} plus {b} is {a + b}"))


def _difference(draw: SplitMix64, _: Sequence[str]) -> str:
    a, b = _number(draw), _number(draw)
    return choice(draw, (f"{a} - {b} = {a - b}", f"{a} minus {b} is {a - b}"))


def _product(draw: SplitMix64, _: Sequence[str]) -> str:
    a, b = randint(draw, 0, SMALL), randbelow(draw, choice(draw, (SMALL, SMALL, MIDDLE)))
    a, b = choice(draw, ((a, b), (b, a)))
    return choice(draw, (f"{a} * {b} = {a * b}", f"{a} times {b} is {a * b}", f"{a * b} = {a} × {b}"))


def _quotient(draw: SplitMix64, _: Sequence[str]) -> str:
    a, b = randint(draw, 1, SMALL), randint(draw, 1, SMALL)
    rest = randbelow(draw, b)
    return f"{a * b + rest} / {b} is {a}, remainder {rest}" if rest else f"{a * b} / {b} = {a}"


def _comparison(draw: SplitMix64, _: Sequence[str]) -> str:
    a, b = _number(draw), _number(draw)
    sign = "<" if a < b else ">" if a > b else "="
    return choice(draw, (f"{a} {sign} {b}", f"of {a} and {b} the larger is {max(a, b)}, the smaller {min(a, b)}"))


def _counting(draw: SplitMix64, _: Sequence[str]) -> str:
    first, step = _number(draw), choice(draw, (1, 1, 2, 3, 5, 10))
    return ", ".join(str(first + step * place) for place in range(randint(draw, 3, 6)))


def _spelling(draw: SplitMix64, words: Sequence[str]) -> str:
    word = choice(draw, words)
    word = choice(draw, (word.lower(), word.lower(), word.capitalize(), word.upper()))
    return f"{word}: {' '.join(word)}"


def _alphabet(draw: SplitMix64, _: Sequence[str]) -> str:
    first = randbelow(draw, 22)
    letters = [chr(97 + place) for place in range(first, min(first + randint(draw, 3, 8), 26))]
    return " ".join(letters)


KINDS: tuple[Callable[[SplitMix64, Sequence[str]], str], ...] = (
    *(_sum, _sum, _difference, _difference, _product, _product, _quotient, _comparison, _counting),
    *(_spelling, _spelling, _alphabet),
)
