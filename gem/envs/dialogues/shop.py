"""A small shop: its products, customers and orders, drawn from a seed, and the tools that read and change them.

The shop is plain JSON, so that it is an episode's state as it is. Money is in cents; dates are days before today.
A tool takes the shop and named texts, and returns what it says; one that cannot do what is asked raises `Refused`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from gem.rng import RandomSource, choice, randint, sample, shuffle

Shop = dict[str, Any]
Order = dict[str, Any]

PRODUCTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], int]] = {
    "desk lamp": (("black", "white", "green"), ("small", "large"), 2490),
    "backpack": (("blue", "grey", "red"), ("20 litre", "30 litre"), 5900),
    "teapot": (("clay", "glass"), ("half litre", "one litre"), 1850),
    "blanket": (("wool", "cotton"), ("single", "double"), 4200),
    "headset": (("wired", "wireless"), ("black", "silver"), 7990),
    "rain jacket": (("yellow", "navy"), ("medium", "large"), 8900),
    "notebook": (("ruled", "plain", "dotted"), ("pocket", "full-size"), 950),
    "bicycle bell": (("brass", "chrome"), ("classic", "mini"), 1290),
    "bookshelf": (("oak", "pine"), ("low", "tall"), 12900),
    "cushion": (("linen", "velvet"), ("round", "square"), 2200),
}
"""Name to colours or materials, sizes, and the price of the first variant."""
FIRST_NAMES = ("Ada", "Bruno", "Chiara", "Dov", "Elif", "Farid", "Greta", "Hana", "Ivo", "Jonas", "Kira", "Lenz")
LAST_NAMES = ("Abt", "Brandl", "Costa", "Dorn", "Ekman", "Fiala", "Gruber", "Holm", "Ilic", "Jansen", "Kovac", "Lund")
STREETS = ("Mill Lane", "Quarry Road", "Harbour Street", "Elm Row", "Castle Hill", "Station Road", "Orchard Way")
TOWNS = ("Ostbrook", "Lindenau", "Farhaven", "Kesselby", "Morgate", "Tannfield")
PAYMENTS = ("credit card", "bank transfer", "gift card")

RETURN_DAYS = 30
"""Days after delivery in which an item may be returned or exchanged."""
CHEAP = 3000
"""A damaged item up to this price is refunded without being sent back."""
CANCEL_REASONS = ("no longer needed", "ordered by mistake")
ESCALATIONS = ("lost parcel", "legal", "other")


class Refused(Exception):
    """A tool cannot do this; the message says why."""


def draw_shop(rng: RandomSource) -> tuple[Shop, str]:
    """A shop, and the customer who is going to call: somebody with orders in every state."""
    shop: Shop = {"products": _draw_products(rng), "customers": {}, "orders": {}, "tickets": []}
    names = sample(rng, [f"{first} {last}" for first in FIRST_NAMES for last in LAST_NAMES], 5)
    for name in names[1:]:
        customer = _add_customer(rng, shop, name)
        for _ in range(2):
            _add_order(rng, shop, customer, choice(rng, ("pending", "shipped", "delivered")), 1)
    caller = _add_customer(rng, shop, names[0])
    kinds = [("pending", 2), ("pending", 1), ("shipped", 1), ("delivered", 2), ("old", 1), ("final sale", 1)]
    shuffle(rng, kinds)
    products = iter(sample(rng, list(PRODUCTS), 8))  # each but once, so that an item names its order
    for status, count in kinds:
        _add_order(rng, shop, caller, status, count, [next(products) for _ in range(count)])
    return shop, caller


def _draw_products(rng: RandomSource) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (kinds, sizes, price) in PRODUCTS.items():
        variants: dict[str, Any] = {}
        for number, (kind, size) in enumerate((kind, size) for kind in kinds for size in sizes):
            key = f"{name.replace(' ', '-')}-{number + 1}"
            variants[key] = {
                "name": f"{kind} {size} {name}",
                "price": price + 100 * number + 10 * randint(rng, 0, 9),
                "stock": randint(rng, 1, 9),
            }
        found[name] = variants
    return found


def _add_customer(rng: RandomSource, shop: Shop, name: str) -> str:
    key = f"C{101 + len(shop['customers'])}"
    shop["customers"][key] = {
        "name": name,
        "email": f"{name.lower().replace(' ', '.')}@example.org",
        "zip": str(randint(rng, 10000, 99999)),
        "address": draw_address(rng),
        "orders": [],
    }
    return key


def draw_address(rng: RandomSource) -> str:
    """A street address."""
    return f"{randint(rng, 1, 99)} {choice(rng, STREETS)}, {choice(rng, TOWNS)}"


def _add_order(
    rng: RandomSource, shop: Shop, customer: str, status: str, count: int, products: list[str] | None = None
) -> None:
    number = f"W{randint(rng, 1000, 9999)}"
    while number in shop["orders"]:
        number = f"W{randint(rng, 1000, 9999)}"
    items = []
    for name in products or sample(rng, list(PRODUCTS), count):
        key = choice(rng, list(shop["products"][name]))
        items.append({"item": key, "price": shop["products"][name][key]["price"], "status": ""})
    delivered = {"delivered": (3, 25), "old": (40, 90), "final sale": (3, 25)}.get(status)
    order: Order = {
        "customer": customer,
        "status": "delivered" if delivered else status,
        "days": randint(rng, *delivered) if delivered else None,
        "final_sale": status == "final sale",
        "items": items,
        "address": shop["customers"][customer]["address"],
        "payment": choice(rng, PAYMENTS[:2]),
        "refunds": [],
    }
    shop["orders"][number] = order
    shop["customers"][customer]["orders"].append(number)


# ------------------------------------------------------------------ words


def money(cents: int) -> str:
    """An amount in words: 24.90."""
    return f"{cents // 100}.{cents % 100:02d}"


def variant(shop: Shop, item: str) -> dict[str, Any]:
    """Name, price and stock of a variant.

    Raises:
        Refused: if there is none with this id.
    """
    for variants in shop["products"].values():
        if item in variants:
            found: dict[str, Any] = variants[item]
            return found
    raise Refused(f"There is no item {item}.")


def product_of(shop: Shop, item: str) -> str:
    """The product that a variant belongs to."""
    return next(str(name) for name, variants in shop["products"].items() if item in variants)


def total(order: Order) -> int:
    """What all items of an order cost."""
    return sum(int(line["price"]) for line in order["items"])


# ------------------------------------------------------------------ tools that read


def find_customer(shop: Shop, email: str = "", name: str = "", zip: str = "") -> str:  # noqa: A002
    """The customer with this e-mail address, or with this name and zip code."""
    for key, one in shop["customers"].items():
        by_name = name and zip and one["name"].lower() == name.lower() and one["zip"] == zip
        if (email and one["email"] == email.lower()) or by_name:
            orders = ", ".join(one["orders"])
            return f"Customer {key}: {one['name']}, {one['email']}, {one['address']}. Orders: {orders}."
    raise Refused("No customer has this e-mail address, or this name together with this zip code.")


def show_order(shop: Shop, order: str) -> str:
    """Status, items, prices, address and payment of an order."""
    found = _order(shop, order)
    lines = [f"Order {order} of customer {found['customer']}: {found['status']}{_when(found)}."]
    for line in found["items"]:
        status = f", {line['status']}" if line["status"] else ""
        lines.append(f"- {line['item']}: {variant(shop, line['item'])['name']}, {money(line['price'])}{status}")
    lines.append(f"Total {money(total(found))}, paid by {found['payment']}. To: {found['address']}.")
    return "\n".join(lines)


def _when(order: Order) -> str:
    sale = ", final sale" if order["final_sale"] else ""
    return sale if order["days"] is None else f" {order['days']} days ago{sale}"


def show_product(shop: Shop, product: str) -> str:
    """All variants of a product with their prices and stock."""
    variants = shop["products"].get(product.lower())
    if variants is None:
        raise Refused(f"There is no product {product}; there is {', '.join(shop['products'])}.")
    return "\n".join(
        f"- {key}: {one['name']}, {money(one['price'])}, {one['stock'] or 'none'} in stock"
        for key, one in variants.items()
    )


# ------------------------------------------------------------------ tools that change something


def cancel_order(shop: Shop, order: str, reason: str) -> str:
    """Cancel a pending order; the reason is "no longer needed" or "ordered by mistake"."""
    found = _pending(shop, order)
    if reason.lower() not in CANCEL_REASONS:
        raise Refused(f"The reason is one of: {', '.join(CANCEL_REASONS)}.")
    found["status"] = "cancelled"
    found["refunds"].append([found["payment"], total(found)])
    return f"Order {order} is cancelled; {money(total(found))} goes back by {found['payment']}."


def change_address(shop: Shop, order: str, address: str) -> str:
    """Send a pending order to another address."""
    _pending(shop, order)["address"] = address
    return f"Order {order} goes to {address}."


def change_item(shop: Shop, order: str, item: str, new_item: str) -> str:
    """Change an item of a pending order for another variant of the same product."""
    found = _pending(shop, order)
    line = _line(found, order, item)
    price = _check_exchange(shop, item, new_item)
    line["item"], line["price"] = new_item, price
    return f"Order {order} has {variant(shop, new_item)['name']} now, for {money(price)}."


def return_item(shop: Shop, order: str, item: str, refund_to: str) -> str:
    """Take back an item of a delivered order; the refund goes to the original payment or to a gift card."""
    found = _delivered(shop, order)
    line = _line(found, order, item)
    if refund_to.lower() not in (found["payment"], "gift card"):
        raise Refused(f"The refund goes by {found['payment']} or to a gift card.")
    line["status"] = "return requested"
    found["refunds"].append([refund_to.lower(), line["price"]])
    return f"The return of {item} is requested; {money(line['price'])} goes back by {refund_to.lower()}."


def exchange_item(shop: Shop, order: str, item: str, new_item: str) -> str:
    """Exchange an item of a delivered order for another variant of the same product, or a damaged one for the same."""
    found = _delivered(shop, order)
    line = _line(found, order, item)
    _check_exchange(shop, item, new_item)
    line["status"] = f"exchange for {new_item} requested"
    return f"The exchange of {item} for {new_item} is requested."


def refund_damaged(shop: Shop, order: str, item: str) -> str:
    """Refund a damaged item of a delivered order without taking it back."""
    found = _delivered(shop, order)
    line = _line(found, order, item)
    if line["price"] > CHEAP:
        raise Refused(f"Only items up to {money(CHEAP)} are refunded without being sent back.")
    line["status"] = "refunded as damaged"
    found["refunds"].append([found["payment"], line["price"]])
    return f"{money(line['price'])} for {item} goes back by {found['payment']}."


def change_profile(shop: Shop, customer: str, address: str) -> str:
    """Change the address in a customer's profile; orders keep theirs."""
    if customer not in shop["customers"]:
        raise Refused(f"There is no customer {customer}.")
    shop["customers"][customer]["address"] = address
    return f"The address of {customer} is {address}."


def escalate(shop: Shop, reason: str) -> str:
    """Hand the conversation over to a colleague, which ends it; the reason is "lost parcel", "legal" or "other"."""
    if reason.lower() not in ESCALATIONS:
        raise Refused(f"The reason is one of: {', '.join(ESCALATIONS)}.")
    shop["tickets"].append(reason.lower())
    return "A colleague takes over."


def _order(shop: Shop, order: str) -> Order:
    if order not in shop["orders"]:
        raise Refused(f"There is no order {order}.")
    found: Order = shop["orders"][order]
    return found


def _pending(shop: Shop, order: str) -> Order:
    found = _order(shop, order)
    if found["status"] != "pending":
        raise Refused(f"Order {order} is {found['status']}; only pending orders can be changed.")
    return found


def _delivered(shop: Shop, order: str) -> Order:
    found = _order(shop, order)
    if found["status"] != "delivered":
        raise Refused(f"Order {order} is {found['status']}, not delivered.")
    return found


def _line(order: Order, number: str, item: str) -> dict[str, Any]:
    for line in order["items"]:
        if line["item"] == item:
            if line["status"]:
                raise Refused(f"{item} of order {number} is {line['status']} already.")
            found: dict[str, Any] = line
            return found
    raise Refused(f"Order {number} has no item {item}.")


def _check_exchange(shop: Shop, item: str, new_item: str) -> int:
    """The price of the new item."""
    other = variant(shop, new_item)
    if product_of(shop, item) != product_of(shop, new_item):
        raise Refused("An item can only be exchanged for another variant of the same product.")
    if not other["stock"]:
        raise Refused(f"{new_item} is not in stock.")
    return int(other["price"])


TOOLS: Mapping[str, Callable[..., str]] = {
    tool.__name__: tool
    for tool in (
        find_customer, show_order, show_product, cancel_order, change_address, change_item, return_item,
        exchange_item, refund_damaged, change_profile, escalate,
    )
}  # fmt: skip
READING = ("find_customer", "show_order", "show_product")


def arguments(tool: Callable[..., str]) -> dict[str, bool]:
    """The names of a tool's arguments, and whether each has to be given."""
    parameters = list(inspect.signature(tool).parameters.values())[1:]
    return {one.name: one.default is one.empty for one in parameters}


def described(name: str) -> str:
    """A tool as the instructions list it."""
    tool = TOOLS[name]
    given = " ".join(f"{one}=..." for one in arguments(tool))
    return f"{name} {given}: {(tool.__doc__ or '').strip()}"


def call(shop: Shop, name: str, given: Mapping[str, str]) -> str:
    """Use a tool.

    Raises:
        Refused: if there is no such tool, it takes other arguments, or it cannot do what is asked.
    """
    tool = TOOLS.get(name)
    if tool is None:
        raise Refused(f"There is no tool {name}; there is say, {', '.join(TOOLS)}.")
    takes = arguments(tool)
    wrong = [one for one in given if one not in takes] or [one for one in takes if takes[one] and not given.get(one)]
    if wrong:
        raise Refused(f"{name} is written so: {described(name)}")
    return tool(shop, **given)
