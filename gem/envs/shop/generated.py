"""The catalogue of our own shop: 1,260 products drawn from the kinds in `kinds.txt`, always the same ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import NamedTuple

from gem.envs.shop.product import Catalogue, Product
from gem.rng import RandomSource, SplitMix64, choice, randbelow, sample, shuffle

_FILE = Path(__file__).parent / "kinds.txt"

PRODUCTS_PER_KIND = 42
"""The number of products of each kind."""
BRANDS = (
    "Alderway", "Bexley & Sons", "Corvo", "Dunmore", "Elmstead", "Fjellvik", "Garnet Lane", "Hollin", "Iverna",
    "Juniper", "Kestrel", "Lumeo", "Marlowe", "Norrby", "Orsa", "Pinecrest", "Quillon", "Rivo", "Saltmarsh",
    "Tamarind", "Umbra North", "Velden", "Wrenfield", "Yarrow",
)  # fmt: skip
SERIES = ("Classic", "Pro", "Lite", "Nova", "Terra", "Aero", "Studio", "Urban", "Origin", "Plus", "Mira", "Duo")
BULLET_TEMPLATES = (
    "The {noun} is {attribute}.",
    "Made to be {attribute}, day after day.",
    "Good to know: {attribute}.",
    "{attribute}, as our customers asked for.",
)
REVIEWS = (
    "Exactly as described, and it came in two days.",
    "I bought a second one for my sister.",
    "Does what it should. The packing could be smaller.",
    "The color is a little darker than in the picture.",
    "After three months it still looks new.",
    "Good value. I would buy it again.",
    "Smaller than I thought, so read the measures first.",
)
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"  # without I, O, 0 and 1, which are easily confused
_SEED = 20_251


class ProductKind(NamedTuple):
    """A line of `kinds.txt`."""

    name: str
    path: str
    """The departments, as in `Product.path`."""
    prices: tuple[int, int]
    """The lowest and the highest price, in dollars."""
    nouns: list[str]
    attributes: list[str]
    options: dict[str, list[str]]


@cache
def catalogue() -> Catalogue:
    """The catalogue, made when it is first used."""
    products = [
        _draw_product(kind, kind_number, number)
        for kind_number, kind in enumerate(_read_kinds())
        for number in range(PRODUCTS_PER_KIND)
    ]
    shuffle(SplitMix64(_SEED), products)
    return Catalogue(products, "our own shop")


def _read_kinds() -> list[ProductKind]:
    lines = _FILE.read_text(encoding="utf-8").splitlines()
    return [_parse_kind(line) for line in lines if line and not line.startswith("#")]


def _parse_kind(line: str) -> ProductKind:
    name, path, prices, nouns, attributes, options = (part.strip() for part in line.split("|"))
    low, high = prices.split()
    option_lists = (option.split(":") for option in options.split(";"))
    return ProductKind(
        name,
        path,
        (int(low), int(high)),
        nouns.split(", "),
        attributes.split(", "),
        {option.strip(): values.strip().split(", ") for option, values in option_lists},
    )


def _draw_product(kind: ProductKind, kind_number: int, number: int) -> Product:
    rng = SplitMix64(_SEED, kind_number, number)
    attributes = sample(rng, kind.attributes, 3 + randbelow(rng, min(3, len(kind.attributes) - 3)))
    noun, brand = choice(rng, kind.nouns), choice(rng, BRANDS)
    title_attributes = attributes[: 1 + randbelow(rng, 2)]
    title = f"{brand} {choice(rng, SERIES)} {noun.title()}, {', '.join(title_attributes)}"
    low, high = kind.prices
    price = round(low + (high - low) * rng.random() ** 1.7) - choice(rng, (0.01, 0.05, 0.5))
    bullets = [
        _capitalize(choice(rng, BULLET_TEMPLATES).format(noun=noun, attribute=attribute)) for attribute in attributes
    ]
    return Product(
        key="B" + "".join(choice(rng, _LETTERS) for _ in range(9)),
        title=title,
        kind=kind.name,
        path=kind.path,
        price=round(price, 2),
        attributes=tuple(attributes),
        options={name: tuple(_draw_most(rng, values)) for name, values in kind.options.items()},
        bullets=tuple(bullets),
        description=f"A {noun} by {brand}, in the department {kind.path.rpartition(chr(8250))[2].strip().lower()}.",
        rating=round(3 + 2 * rng.random(), 1),
        reviews=tuple(sample(rng, REVIEWS, randbelow(rng, 4))),
    )


def _draw_most(rng: RandomSource, values: list[str]) -> list[str]:
    """Draw most of the values and keep their order."""
    missing = set(sample(rng, values, randbelow(rng, len(values) - 1)))
    return [value for value in values if value not in missing]


def _capitalize(text: str) -> str:
    return text[0].upper() + text[1:]
