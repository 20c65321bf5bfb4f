"""Reads the products of WebShop's own files.

`items_shuffle_1000.json` (or the larger `items_shuffle.json`) has the products, `items_ins_v2_1000.json` their
attributes. WebShop (https://github.com/princeton-nlp/WebShop) says how to download both.
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
"""The price that WebShop assumes for a product without a price, in dollars."""


@lru_cache(maxsize=4)
def load(products: str, attributes: str, num_products: int) -> Catalogue:
    """The first `num_products` of the file `products` that have attributes.

    Raises:
        InvalidArgument: if a file is missing or holds something else.
    """
    if num_products < 1:
        raise InvalidArgument(f"num_products must be at least 1, not {num_products}.")
    attribute_entries: dict[str, Any] = _read(attributes) if attributes else {}
    found_products: dict[str, Product] = {}
    for entry in _read(products)[:num_products]:
        key = str(entry.get("asin", ""))
        if key and key != "nan" and len(key) <= 10:
            found_products.setdefault(key, _parse_product(key, entry, attribute_entries.get(key, {})))
    usable_products = [product for product in found_products.values() if product.attributes]
    if not usable_products:
        raise InvalidArgument(
            f"{products} has no product with attributes. Name WebShop's file of attributes (items_ins_v2.json) too."
        )
    return Catalogue(usable_products, Path(products).name)


def _read(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"{path} cannot be read: {error.strerror}. Name a file of WebShop's products.") from error
    except ValueError as error:
        raise InvalidArgument(f"{path} is no JSON file: {error}. Name a file of WebShop's products.") from error


def _parse_product(key: str, entry: dict[str, Any], attribute_entry: dict[str, Any]) -> Product:
    features = entry.get("small_description") or []
    attribute_groups = (attribute_entry.get("attributes"), attribute_entry.get("instruction_attributes"))
    attributes = [str(attribute) for group in attribute_groups for attribute in group or ()]
    return Product(
        key=key,
        title=str(entry.get("name", "")),
        kind=str(entry.get("query", "")).lower().strip(),
        path=str(entry.get("product_category", "")),
        price=_parse_price(str(entry.get("pricing") or "")),
        attributes=tuple(dict.fromkeys(attributes)),
        options=_parse_options(entry.get("customization_options") or {}),
        bullets=tuple(map(str, features if isinstance(features, list) else [features])),
        description=str(entry.get("full_description") or ""),
        rating=0.0,
    )


def _parse_price(text: str) -> float:
    """The price, or the lower end of a range."""
    amounts = re.findall(r"\$([\d,]+(?:\.\d+)?)", text)
    return float(amounts[0].replace(",", "")) if amounts else PRICE_UNKNOWN


def _parse_options(raw: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """Name to values, as WebShop writes them: in lower case, with " | " for "/", and without values in brackets."""
    options = {}
    for name, values in raw.items():
        texts = [str(value.get("value", "")).strip().replace("/", " | ").lower() for value in values or ()]
        usable_values = [value for value in dict.fromkeys(texts) if value and "[" not in value and "]" not in value]
        if usable_values:
            options[name.lower()] = tuple(usable_values)
    return options
