"""The products of WebShop's own files, read when they are named.

`items_shuffle_1000.json` (or the larger `items_shuffle.json`) has the products, `items_ins_v2_1000.json` their
attributes; both come with WebShop (https://github.com/princeton-nlp/WebShop), which says how to fetch them.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

from gem.envs.shop.product import Catalogue, Product
from gem.errors import InvalidArgument

PRICE_UNKNOWN = 100.0
"""WebShop's price of a product without one, in dollars."""


@lru_cache(maxsize=4)
def load(products: str, attributes: str, num_products: int) -> Catalogue:
    """The first `num_products` of the file `products` that have attributes.

    Raises:
        InvalidArgument: if a file is missing or holds something else.
    """
    if num_products < 1:
        raise InvalidArgument(f"num_products must be at least 1, not {num_products}.")
    told: dict[str, Any] = _read(attributes) if attributes else {}
    found: dict[str, Product] = {}
    for entry in _read(products)[:num_products]:
        key = str(entry.get("asin", ""))
        if key and key != "nan" and len(key) <= 10:
            found.setdefault(key, _product(key, entry, told.get(key, {})))
    kept = [product for product in found.values() if product.attributes]
    if not kept:
        raise InvalidArgument(
            f"{products} has no product with attributes. Name WebShop's file of attributes (items_ins_v2.json) too."
        )
    return Catalogue(kept, Path(products).name)


def _read(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read: {error.strerror}. Name a file of WebShop's products.") from error
    except ValueError as error:
        raise InvalidArgument(f"{path} is no JSON file: {error}. Name a file of WebShop's products.") from error


def _product(key: str, entry: dict[str, Any], told: dict[str, Any]) -> Product:
    small = entry.get("small_description") or []
    named = (told.get("attributes"), told.get("instruction_attributes"))
    attributes = [str(one) for group in named for one in group or ()]
    return Product(
        key=key,
        title=str(entry.get("name", "")),
        kind=str(entry.get("query", "")).lower().strip(),
        path=str(entry.get("product_category", "")),
        price=_price(str(entry.get("pricing") or "")),
        attributes=tuple(dict.fromkeys(attributes)),
        options=_options(entry.get("customization_options") or {}),
        bullets=tuple(map(str, small if isinstance(small, list) else [small])),
        description=str(entry.get("full_description") or ""),
        rating=0.0,
    )


def _price(text: str) -> float:
    """The price, or the lower end of a range."""
    amounts = re.findall(r"\$([\d,]+(?:\.\d+)?)", text)
    return float(amounts[0].replace(",", "")) if amounts else PRICE_UNKNOWN


def _options(raw: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Name to values, as WebShop writes them: in small letters, a slash between bars, nothing in brackets."""
    options = {}
    for name, values in raw.items():
        written = [str(one.get("value", "")).strip().replace("/", " | ").lower() for one in values or ()]
        kept = [one for one in dict.fromkeys(written) if one and "[" not in one and "]" not in one]
        if kept:
            options[name.lower()] = tuple(kept)
    return options
