"""The goals of customers, drawn from the catalogue."""

from __future__ import annotations

from gem.envs.shop.product import Catalogue, Product
from gem.envs.shop.reward import Goal
from gem.rng import RandomSource, choice, randbelow, sample

PRICE_LIMITS = tuple(10.0 * step for step in range(1, 100))
"""The price limits that a customer may set, in dollars."""
NO_LIMIT = 1_000_000.0
"""The limit of a customer who sets none, in dollars."""
OPENINGS = (
    "I am looking for a {kind} that is {attributes}",
    "Please find me a {kind}. It should be {attributes}",
    "I need a new {kind}: {attributes}",
    "Can you get me a {kind} that is {attributes}",
)


def draw_goal(rng: RandomSource, shop: Catalogue, *, hard: bool) -> Goal:
    """Draw a product and make a goal of it: one attribute and one option, or with `hard` three and all options."""
    product = shop.products[choice(rng, shop.keys)]
    count = min(3 if hard else 1, len(product.attributes))
    attributes = tuple(sample(rng, product.attributes, count))
    names = list(product.options) if hard else list(product.options)[: len(product.options) and 1]
    options = {name: choice(rng, product.options[name]) for name in names if product.options[name]}
    price_upper = _draw_limit(rng, product)
    instruction = _write_instruction(rng, product, attributes, options, price_upper)
    return Goal(product.key, instruction, attributes, options, price_upper)


def _draw_limit(rng: RandomSource, product: Product) -> float:
    """Draw two of the four limits next above the price, and return the higher one, as WebShop does."""
    limits = [limit for limit in PRICE_LIMITS if limit > product.price][:4]
    if len(limits) < 2:
        return NO_LIMIT
    return max(sample(rng, limits, 2))


def _write_instruction(
    rng: RandomSource, product: Product, attributes: tuple[str, ...], options: dict[str, str], price_upper: float
) -> str:
    opening = OPENINGS[randbelow(rng, len(OPENINGS))].format(kind=product.kind, attributes=_join_words(attributes))
    wishes = [f"{name}: {value}" for name, value in options.items()]
    parts = [opening, *([f"with {_join_words(wishes)}"] if wishes else [])]
    if price_upper != NO_LIMIT:
        parts.append(f"for at most {price_upper:.2f} dollars")
    return ", ".join(parts) + "."


def _join_words(items: list[str] | tuple[str, ...]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else "useful"
