"""The expert for WebShop: it searches for the words of the request, opens the best product, chooses its options, buys.

It compares every product that the search has found with the request, as a customer with much time could; an agent
would have to open one product after the other. It does not know from which product the request was made.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from gem.agents.agent import Decision
from gem.envs.shop.goals import NO_LIMIT
from gem.envs.shop.pages import BACK, BUY, NEXT, PREVIOUS
from gem.envs.shop.product import Product
from gem.envs.shop.web_shop import WebShop

FILLERS = frozenset([
    "i", "am", "need", "can", "you", "please", "find", "get", "me", "looking", "for", "a", "an", "new", "that", "is",
    "it", "should", "be", "with", "and", "at", "most",
])  # fmt: skip
"""Words of a request that say nothing about the product."""

_PRICE = re.compile(r"at most ([\d.]+) dollars|lower than ([\d.]+) dollars")


class Wish(NamedTuple):
    """What the customer's request says."""

    words: str
    """The words to search for."""
    text: str
    """The whole request in lower case."""
    limit: float
    """The highest price, in dollars."""


def shop_around(env: WebShop) -> Decision:
    """Make the next search or click."""
    wish = _read(env.goal.instruction)
    if not env.query and not env.item:
        return Decision(f"\\boxed{{search[{wish.words}]}}", "Search for the words of the request.")
    if not env.item:
        return _open_best_product(env, wish)
    if env.sheet:
        return Decision(f"\\boxed{{click[{PREVIOUS}]}}", "Read; back to the product.")
    for name, values in env.product.options.items():
        value = _requested_value(wish, name, values)
        if value and env.chosen_options.get(name) != value:
            return Decision(f"\\boxed{{click[{value}]}}", f"The request asks for {name}: {value}.")
    return Decision(f"\\boxed{{click[{BUY}]}}", "Of what was found, this fits the request best.")


def _read(instruction: str) -> Wish:
    text = instruction.lower()
    match = _PRICE.search(text)
    limit = float(next(group for group in match.groups() if group)) if match else NO_LIMIT
    words = _PRICE.sub("", text)
    words = " ".join(word for word in re.findall(r"[\w&%-]+(?:\.\d+)?", words) if word not in FILLERS)
    return Wish(words, text, limit)


def _open_best_product(env: WebShop, wish: Wish) -> Decision:
    """Open the result that fits best, or go to the page of results that shows it."""
    products = [env.shop.products[key] for key in env.result_keys]
    if not products:
        return Decision(f"\\boxed{{click[{BACK}]}}", "Nothing was found; search with other words.")
    best = max(products, key=lambda product: _fit_score(product, wish))
    page = env.result_keys.index(best.key) // 10 + 1
    if page > env.page_number:
        return Decision(f"\\boxed{{click[{NEXT}]}}", "The best fit is on a later page.")
    if page < env.page_number:
        return Decision(f"\\boxed{{click[{PREVIOUS}]}}", "The best fit is on an earlier page.")
    return Decision(f"\\boxed{{click[{best.key}]}}", f"{best.title} fits best of what was found.")


def _fit_score(product: Product, wish: Wish) -> tuple[float, ...]:
    """How well a product fits, for comparison: first its kind, then attributes, options and price, then the price."""
    kind = float(product.kind in wish.text)
    price = float(product.price <= wish.limit)
    attributes = sum(attribute.lower() in wish.text for attribute in product.attributes)
    options = sum(bool(_requested_value(wish, name, values)) for name, values in product.options.items())
    return (kind, attributes + options + price, price)


def _requested_value(wish: Wish, name: str, values: Sequence[str]) -> str:
    """The value of this option that the request names; empty if it names none."""
    requested_values = [value for value in values if f"{name}: {value}".lower() in wish.text]
    return max(requested_values, key=len) if requested_values else ""
