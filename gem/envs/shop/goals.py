"""What customers ask for, drawn from the catalogue."""

from __future__ import annotations

from gem.envs.shop.product import Catalogue, Product
from gem.envs.shop.reward import Goal
from gem.rng import RandomSource, choice, randbelow, sample

LIMITS = tuple(10.0 * step for step in range(1, 100))
"""Price limits, in dollars."""
NO_LIMIT = 1_000_000.0
OPENINGS = (
    "I am looking for a {kind} that is {attributes}",
    "Please find me a {kind}. It should be {attributes}",
    "I need a new {kind}: {attributes}",
    "Can you get me a {kind} that is {attributes}",
)


def draw_goal(rng: RandomSource, shop: Catalogue, *, hard: bool) -> Goal:
    """One product that there is, of which the customer names one attribute and option, or three and all."""
    product = shop.products[choice(rng, shop.keys)]
    count = min(3 if hard else 1, len(product.attributes))
    attributes = tuple(sample(rng, product.attributes, count))
    names = list(product.options) if hard else list(product.options)[: len(product.options) and 1]
    options = {name: choice(rng, product.options[name]) for name in names if product.options[name]}
    price = _draw_limit(rng, product)
    return Goal(product.key, _told(rng, product, attributes, options, price), attributes, options, price)


def _draw_limit(rng: RandomSource, product: Product) -> float:
    """The higher of two of the four limits above the price, as WebShop draws it."""
    above = [limit for limit in LIMITS if limit > product.price][:4]
    if len(above) < 2:
        return NO_LIMIT
    return max(sample(rng, above, 2))


def _told(
    rng: RandomSource, product: Product, attributes: tuple[str, ...], options: dict[str, str], price: float
) -> str:
    opening = OPENINGS[randbelow(rng, len(OPENINGS))].format(kind=product.kind, attributes=_listed(attributes))
    wishes = [f"{name}: {value}" for name, value in options.items()]
    parts = [opening, *([f"with {_listed(wishes)}"] if wishes else [])]
    if price != NO_LIMIT:
        parts.append(f"for at most {price:.2f} dollars")
    return ", ".join(parts) + "."


def _listed(items: list[str] | tuple[str, ...]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}" if items else "useful"
