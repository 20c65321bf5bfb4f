"""A product of a shop, and the catalogue of all its products."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from gem.envs.shop.search import ProductIndex, words_of

MAX_DEPARTMENTS = 40

Options = Mapping[str, Sequence[str]]
"""Name to values: {"color": ("red", "blue")}."""


@dataclass(frozen=True, slots=True)
class Product:
    """A product and everything on its pages."""

    key: str
    """The product's number in the shop, such as B07XQ2M4TD, which agents write to open it."""
    title: str
    kind: str
    """What customers would search for: "desk lamp"."""
    path: str
    """The departments it belongs to, from the top: "Home › Lighting › Desk lamps"."""
    price: float
    """In dollars."""
    attributes: tuple[str, ...]
    """Properties that need not be chosen: "dishwasher safe"."""
    options: Options
    bullets: tuple[str, ...]
    description: str
    rating: float
    reviews: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The text in which the search engine finds the product."""
        values = [value for values in self.options.values() for value in values]
        words = [self.title, self.title, self.kind, self.path, *self.attributes]
        return " ".join([*words, *values, *self.bullets, self.description])


class Catalogue:
    """The products of a shop, with its search engine and the words that name kinds of products."""

    def __init__(self, products: Sequence[Product], source: str) -> None:
        self.products = {product.key: product for product in products}
        self.source = source
        """Where the products come from, for people."""
        text = json.dumps([asdict(product) for product in products], sort_keys=True)
        self.data_hash = hashlib.sha256(text.encode()).hexdigest()
        self.keys = list(self.products)

    @cached_property
    def index(self) -> ProductIndex:
        """The search engine, built when it is first used."""
        return ProductIndex({product.key: product.text for product in self.products.values()})

    @cached_property
    def departments(self) -> list[str]:
        """The departments of the second level."""
        paths = [product.path.split("›") for product in self.products.values()]
        return sorted({path[min(1, len(path) - 1)].strip() for path in paths} - {""})[:MAX_DEPARTMENTS]

    @cached_property
    def nouns(self) -> frozenset[str]:
        """Words that say what a product is: the words of all kinds and departments."""
        names = [f"{product.kind} {product.path}" for product in self.products.values()]
        return frozenset(word for name in set(names) for word in words_of(name))
