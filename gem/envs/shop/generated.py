"""The catalogue of our own shop: 1,260 products drawn from the kinds in `kinds.txt`, the same ones everywhere."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from gem.envs.shop.product import Catalogue, Product
from gem.rng import RandomSource, SplitMix64, choice, randbelow, sample, shuffle

_FILE = Path(__file__).parent / "kinds.txt"

EACH = 42
"""Products of each kind."""
BRANDS = (
    "Alderway", "Bexley & Sons", "Corvo", "Dunmore", "Elmstead", "Fjellvik", "Garnet Lane", "Hollin", "Iverna",
    "Juniper", "Kestrel", "Lumeo", "Marlowe", "Norrby", "Orsa", "Pinecrest", "Quillon", "Rivo", "Saltmarsh",
    "Tamarind", "Umbra North", "Velden", "Wrenfield", "Yarrow",
)  # fmt: skip
SERIES = ("Classic", "Pro", "Lite", "Nova", "Terra", "Aero", "Studio", "Urban", "Origin", "Plus", "Mira", "Duo")
TOLD = (
    "The {noun} is {attribute}.",
    "Made to be {attribute}, day after day.",
    "Good to know: {attribute}.",
    "{attribute}, as our customers asked for.",
)
PRAISE = (
    "Exactly as described, and it came in two days.",
    "I bought a second one for my sister.",
    "Does what it should. The packing could be smaller.",
    "The color is a little darker than in the picture.",
    "After three months it still looks new.",
    "Good value. I would buy it again.",
    "Smaller than I thought, so read the measures first.",
)
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # nothing to misread
_SEED = 20_251


class Kind(NamedTuple):
    """A line of the file."""

    name: str
    path: str
    prices: tuple[int, int]
    nouns: list[str]
    attributes: list[str]
    options: dict[str, list[str]]


@cache
def catalogue() -> Catalogue:
    """The shop, made when it is first asked for."""
    products = [_product(kind, row, number) for row, kind in enumerate(_kinds()) for number in range(EACH)]
    shuffle(SplitMix64(_SEED), products)
    return Catalogue(products, "our own shop")


def _kinds() -> list[Kind]:
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return [_kind(line) for line in lines if line and not line.startswith("#")]


def _kind(line: str) -> Kind:
    name, path, prices, nouns, attributes, options = (part.strip() for part in line.split("|"))
    low, high = prices.split()
    named = (option.split(":") for option in options.split(";"))
    return Kind(
        name,
        path,
        (int(low), int(high)),
        nouns.split(", "),
        attributes.split(", "),
        {option.strip(): values.strip().split(", ") for option, values in named},
    )


def _product(kind: Kind, row: int, number: int) -> Product:
    rng = SplitMix64(_SEED, row, number)
    attributes = sample(rng, kind.attributes, 3 + randbelow(rng, min(3, len(kind.attributes) - 3)))
    noun, brand = choice(rng, kind.nouns), choice(rng, BRANDS)
    shown = attributes[: 1 + randbelow(rng, 2)]
    title = f"{brand} {choice(rng, SERIES)} {noun.title()}, {', '.join(shown)}"
    low, high = kind.prices
    price = round(low + (high - low) * rng.random() ** 1.7) - choice(rng, (0.01, 0.05, 0.5))
    bullets = [_sentence(choice(rng, TOLD).format(noun=noun, attribute=attribute)) for attribute in attributes]
    return Product(
        key="B" + "".join(choice(rng, _LETTERS) for _ in range(9)),
        title=title,
        kind=kind.name,
        path=kind.path,
        price=round(price, 2),
        attributes=tuple(attributes),
        options={name: tuple(_some(rng, values)) for name, values in kind.options.items()},
        bullets=tuple(bullets),
        description=f"A {noun} by {brand}, in the department {kind.path.rpartition(chr(8250))[2].strip().lower()}.",
        rating=round(3 + 2 * rng.random(), 1),
        reviews=tuple(sample(rng, PRAISE, randbelow(rng, 4))),
    )


def _some(rng: RandomSource, values: list[str]) -> list[str]:
    """Most of the values, in their order."""
    left_out = set(sample(rng, values, randbelow(rng, len(values) - 1)))
    return [value for value in values if value not in left_out]


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:]
