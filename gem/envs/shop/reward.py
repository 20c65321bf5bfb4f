"""The reward of a purchase, by WebShop's formula.

reward = type * (matched attributes + matched options + price) / (requested attributes + requested options + 1)

`type` is 1 if the product is of the right kind and less otherwise. An attribute matches if the product has one with
nearly the same words, or if the product's title, features or description contain it. An option matches likewise,
except that sizes must be equal. `price` is 1 if the product's price is within the limit, else 0.

Source: Yao et al., "WebShop: Towards Scalable Real-World Web Interaction with Grounded Language Agents" (2022),
section 3.2 and appendix A.5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher

from gem.envs.shop.product import Product
from gem.envs.shop.search import words_of

MIN_SIMILARITY = 85
"""Two texts match if their `similarity` is above this value."""
EXACT_OPTIONS = ("size",)
"""Options whose values must be equal to match."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What the customer wants."""

    key: str
    """The key of the product from which the goal was made."""
    instruction: str
    """The customer's request in words."""
    attributes: tuple[str, ...]
    options: Mapping[str, str]
    """Name to value."""
    price_upper: float
    """The highest price, in dollars."""


@dataclass(frozen=True, slots=True)
class RewardParts:
    """The parts of a reward, each from 0 to 1."""

    type: float
    attributes: float
    options: float
    """1 if the customer asked for none."""
    price: float
    total: float


def purchase_reward(
    product: Product, chosen_options: Mapping[str, str], goal: Goal, goal_product: Product, nouns: frozenset[str]
) -> RewardParts:
    """What it is worth to have bought this product with these options; `wanted` is the product of the goal."""
    description = " ".join([product.title, *product.bullets, product.description]).lower()
    attributes = sum(_has_attribute(attribute, product.attributes, description) for attribute in goal.attributes)
    values = [value.lower() for value in goal.options.values()]
    options = sum(_has_option(name, value.lower(), values, description) for name, value in chosen_options.items())
    options = min(options, len(values))
    price = float(product.price <= goal.price_upper)
    kind = kind_match(product, goal_product, nouns)
    total = kind * (attributes + options + price) / (len(goal.attributes) + len(values) + 1)
    return RewardParts(
        type=kind,
        attributes=attributes / len(goal.attributes) if goal.attributes else 1.0,
        options=options / len(values) if values else 1.0,
        price=price,
        total=total,
    )


def kind_match(product: Product, goal_product: Product, nouns: frozenset[str]) -> float:
    """How well the kinds of both products agree: 1, 0.5, 0.1 or 0."""
    path, goal_path = ({part.strip() for part in text.split("›")} for text in (product.path, goal_product.path))
    common_path = path & goal_path
    goal_nouns = set(words_of(goal_product.title)) & nouns
    shared_share = len(goal_nouns & set(words_of(product.title))) / len(goal_nouns) if goal_nouns else 0.2
    if shared_share == 0:
        return 0.0
    if shared_share < 0.1:
        return 0.1
    return 1.0 if product.kind == goal_product.kind or len(common_path) >= 2 or shared_share > 0.2 else 0.5


def _has_attribute(attribute: str, attributes: tuple[str, ...], description: str) -> bool:
    return (
        any(similarity(product_attribute, attribute) > MIN_SIMILARITY for product_attribute in attributes)
        or attribute.lower() in description
    )


def _has_option(name: str, value: str, goal_values: list[str], description: str) -> bool:
    if name.lower() in EXACT_OPTIONS:
        return value in goal_values or value in description
    return any(similarity(goal_value, value) > MIN_SIMILARITY for goal_value in goal_values) or value in description


def similarity(text: str, other_text: str) -> float:
    """The token-set ratio of two texts, from 0 to 100.

    It is the highest similarity between two of three strings: the common words, and these followed by the other words
    of the first or of the second text. Order and repetition of words do not matter.
    """
    words, other_words = set(text.lower().split()), set(other_text.lower().split())
    shared = " ".join(sorted(words & other_words))
    texts = [" ".join([shared, *sorted(remaining)]).strip() for remaining in (words - other_words, other_words - words)]
    pairs = [(texts[0], texts[1])] + ([(shared, combined) for combined in texts] if shared else [])
    return max(100 * SequenceMatcher(None, *pair, autojunk=False).ratio() for pair in pairs)
