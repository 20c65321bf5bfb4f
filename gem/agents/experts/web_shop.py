"""WebShop: search for the words of the request, open the product found that fits it best, choose its options, buy.

All pages of the shop are as open to it as to a customer with much time: it compares every product that the search
found with the request, where an agent would open one after the other. It does not see which one the request is about.
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
    """The request, read."""

    words: str
    text: str
    limit: float


def shop_around(env: WebShop) -> Decision:
    """The next click or search."""
    wish = _read(env.goal.instruction)
    if not env.query and not env.item:
        return Decision(f"\\boxed{{search[{wish.words}]}}", "Search for the words of the request.")
    if not env.item:
        return _choose(env, wish)
    if env.sheet:
        return Decision(f"\\boxed{{click[{PREVIOUS}]}}", "Read; back to the product.")
    for name, values in env.product.options.items():
        value = _asked(wish, name, values)
        if value and env.chosen.get(name) != value:
            return Decision(f"\\boxed{{click[{value}]}}", f"The request asks for {name}: {value}.")
    return Decision(f"\\boxed{{click[{BUY}]}}", "Of what was found, this fits the request best.")


def _read(instruction: str) -> Wish:
    text = instruction.lower()
    found = _PRICE.search(text)
    limit = float(next(group for group in found.groups() if group)) if found else NO_LIMIT
    words = _PRICE.sub("", text)
    words = " ".join(word for word in re.findall(r"[\w&%-]+(?:\.\d+)?", words) if word not in FILLERS)
    return Wish(words, text, limit)


def _choose(env: WebShop, wish: Wish) -> Decision:
    """The product of the results that fits best, looking through the pages in their order."""
    found = [env.shop.products[key] for key in env.found]
    if not found:
        return Decision(f"\\boxed{{click[{BACK}]}}", "Nothing was found; search with other words.")
    best = max(found, key=lambda product: _fit(product, wish))
    page = env.found.index(best.key) // 10 + 1
    if page > env.number:
        return Decision(f"\\boxed{{click[{NEXT}]}}", "The best fit is on a later page.")
    if page < env.number:
        return Decision(f"\\boxed{{click[{PREVIOUS}]}}", "The best fit is on an earlier page.")
    return Decision(f"\\boxed{{click[{best.key}]}}", f"{best.title} fits best of what was found.")


def _fit(product: Product, wish: Wish) -> tuple[float, ...]:
    """How well it fits: the kind, the limit, what is true of it, its options."""
    kind = float(product.kind in wish.text)
    price = float(product.price <= wish.limit)
    attributes = sum(attribute.lower() in wish.text for attribute in product.attributes)
    options = sum(bool(_asked(wish, name, values)) for name, values in product.options.items())
    return (kind, attributes + options + price, price)


def _asked(wish: Wish, name: str, values: Sequence[str]) -> str:
    """The value of an option that the request names; empty if it names none."""
    named = [value for value in values if f"{name}: {value}".lower() in wish.text]
    return max(named, key=len) if named else ""
