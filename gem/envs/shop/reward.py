"""What a purchase is worth: WebShop's formula.

reward = type * (attributes found + options found + price) / (attributes asked for + options asked for + 1)

`type` is 1 where the product is of the right kind, less where it is another one. An attribute counts if one of the
product's is nearly the same text, or if its title, features or description hold it; an option likewise, sizes only if
they are equal; the price if it is not above the limit.

Source: Yao et al., "WebShop: Towards Scalable Real-World Web Interaction with Grounded Language Agents" (2022),
section 3.2 and appendix A.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from gem.envs.shop.product import Product
from gem.envs.shop.search import words_of

NEARLY = 85
"""Texts that are more alike than this, of 100, are taken for the same."""
EXACT = ("size",)
"""Options that must be equal."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What the customer wants."""

    key: str
    """The product it was made from."""
    instruction: str
    attributes: tuple[str, ...]
    options: Mapping[str, str]
    price_upper: float


@dataclass(frozen=True, slots=True)
class Worth:
    """The parts of a reward, each from 0 to 1."""

    type: float
    attributes: float
    options: float
    """1 where none was asked for."""
    price: float
    total: float


def worth(bought: Product, chosen: Mapping[str, str], goal: Goal, wanted: Product, nouns: frozenset[str]) -> Worth:
    """What it is worth to have bought this product with these options; `wanted` is the product of the goal."""
    told = " ".join([bought.title, *bought.bullets, bought.description]).lower()
    attributes = sum(_has(attribute, bought.attributes, told) for attribute in goal.attributes)
    values = [value.lower() for value in goal.options.values()]
    options = sum(_fits(name, value.lower(), values, told) for name, value in chosen.items())
    options = min(options, len(values))
    price = float(bought.price <= goal.price_upper)
    kind = kind_match(bought, wanted, nouns)
    total = kind * (attributes + options + price) / (len(goal.attributes) + len(values) + 1)
    return Worth(
        type=kind,
        attributes=attributes / len(goal.attributes) if goal.attributes else 1.0,
        options=options / len(values) if values else 1.0,
        price=price,
        total=total,
    )


def kind_match(bought: Product, wanted: Product, nouns: frozenset[str]) -> float:
    """Whether both are the same kind of thing: 1, 0.5, 0.1 or 0."""
    same_path = {part.strip() for part in bought.path.split("›")} & {part.strip() for part in wanted.path.split("›")}
    asked = set(words_of(wanted.title)) & nouns
    shared = len(asked & set(words_of(bought.title))) / len(asked) if asked else 0.2
    if shared == 0:
        return 0.0
    if shared < 0.1:
        return 0.1
    return 1.0 if bought.kind == wanted.kind or len(same_path) >= 2 or shared > 0.2 else 0.5


def _has(attribute: str, attributes: tuple[str, ...], told: str) -> bool:
    return any(likeness(one, attribute) > NEARLY for one in attributes) or attribute.lower() in told


def _fits(name: str, value: str, wanted: list[str], told: str) -> bool:
    if name.lower() in EXACT:
        return value in wanted or value in told
    return any(likeness(one, value) > NEARLY for one in wanted) or value in told


def likeness(one: str, other: str) -> float:
    """How alike two texts are as sets of words, 0 to 100: the best match among shared words and the rest of each."""
    first, second = set(one.lower().split()), set(other.lower().split())
    shared = " ".join(sorted(first & second))
    whole = [" ".join([shared, *sorted(rest)]).strip() for rest in (first - second, second - first)]
    pairs = [(whole[0], whole[1])] + ([(shared, text) for text in whole] if shared else [])
    return max(100 * SequenceMatcher(None, *pair, autojunk=False).ratio() for pair in pairs)
