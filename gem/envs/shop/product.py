"""What a shop sells, and the catalogues that there are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

from gem.envs.shop.search import Index, words_of

DEPARTMENTS_AT_MOST = 40

Options = Mapping[str, Sequence[str]]
"""Name to values: {"color": ("red", "blue")}."""


@dataclass(frozen=True, slots=True)
class Product:
    """One product and all that its pages say."""

    key: str
    """Its number in the shop, as an agent writes it: B07XQ2M4TD."""
    title: str
    kind: str
    """What customers would search for: "desk lamp"."""
    path: str
    """Its place among the departments: "Home › Lighting › Desk lamps"."""
    price: float
    """In dollars."""
    attributes: tuple[str, ...]
    """What is true of it and not chosen: "dishwasher safe"."""
    options: Options
    bullets: tuple[str, ...]
    description: str
    rating: float
    reviews: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """All that the search looks at."""
        values = [value for values in self.options.values() for value in values]
        named = [self.title, self.title, self.kind, self.path, *self.attributes]
        return " ".join([*named, *values, *self.bullets, self.description])


class Catalogue:
    """The products of a shop, its search engine, and the words that name kinds of things."""

    def __init__(self, products: Sequence[Product], source: str) -> None:
        self.products = {product.key: product for product in products}
        self.source = source
        """Where they come from."""
        text = json.dumps([asdict(product) for product in products], sort_keys=True)
        self.data_hash = hashlib.sha256(text.encode()).hexdigest()
        self.keys = list(self.products)

    @cached_property
    def index(self) -> Index:
        """The search engine, built when it is first used."""
        return Index({product.key: product.text for product in self.products.values()})

    @cached_property
    def departments(self) -> list[str]:
        """The departments just below the top."""
        parts = [product.path.split("›") for product in self.products.values()]
        return sorted({path[min(1, len(path) - 1)].strip() for path in parts} - {""})[:DEPARTMENTS_AT_MOST]

    @cached_property
    def nouns(self) -> frozenset[str]:
        """Words that say what a product is: those of all kinds and departments."""
        named = [f"{product.kind} {product.path}" for product in self.products.values()]
        return frozenset(word for name in set(named) for word in words_of(name))
