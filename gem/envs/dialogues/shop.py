"""A small shop: its products, customers and orders, drawn from a seed, and the tools that read and change them.

The shop is plain JSON, so that it can be part of an episode's state. Money is in cents; dates are days before today.
A tool is a function that takes the shop and string arguments, and returns its answer as text. It raises `ToolRefusal`
if it cannot do what was asked. The docstrings of the tools are part of the instructions that agents read.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gem.rng import RandomSource, choice, randint, sample, shuffle
from gem.views.forms import FormField, ToolForm

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
"""Name of a product to its colours or materials, its sizes, and the price of the first variant in cents."""
FIRST_NAMES = ("Ada", "Bruno", "Chiara", "Dov", "Elif", "Farid", "Greta", "Hana", "Ivo", "Jonas", "Kira", "Lenz")
LAST_NAMES = ("Abt", "Brandl", "Costa", "Dorn", "Ekman", "Fiala", "Gruber", "Holm", "Ilic", "Jansen", "Kovac", "Lund")
STREETS = ("Mill Lane", "Quarry Road", "Harbour Street", "Elm Row", "Castle Hill", "Station Road", "Orchard Way")
TOWNS = ("Ostbrook", "Lindenau", "Farhaven", "Kesselby", "Morgate", "Tannfield")
PAYMENTS = ("credit card", "bank transfer", "gift card")

RETURN_DAYS = 30
"""Days after delivery within which an item may be returned or exchanged."""
MAX_CENTS_WITHOUT_RETURN = 3000
"""The highest price in cents at which a damaged item is refunded without being sent back."""
CANCEL_REASONS = ("no longer needed", "ordered by mistake")
ESCALATIONS = ("lost parcel", "legal", "other")


class ToolRefusal(Exception):
    """A tool cannot do what was asked; the message says why."""


def draw_shop(rng: RandomSource) -> tuple[Shop, str]:
    """Draw a shop; return it and the number of the customer who will call, who has orders in every state."""
    shop: Shop = {"products": _draw_products(rng), "customers": {}, "orders": {}, "tickets": []}
    names = sample(rng, [f"{first_name} {last_name}" for first_name in FIRST_NAMES for last_name in LAST_NAMES], 5)
    for name in names[1:]:
        customer = _add_customer(rng, shop, name)
        for _ in range(2):
            _add_order(rng, shop, customer, choice(rng, ("pending", "shipped", "delivered")), 1)
    caller = _add_customer(rng, shop, names[0])
    orders = [("pending", 2), ("pending", 1), ("shipped", 1), ("delivered", 2), ("old", 1), ("final sale", 1)]
    shuffle(rng, orders)
    products = iter(sample(rng, list(PRODUCTS), 8))  # each product only once, so that a product identifies its order
    for status, count in orders:
        _add_order(rng, shop, caller, status, count, [next(products) for _ in range(count)])
    return shop, caller


def _draw_products(rng: RandomSource) -> dict[str, Any]:
    products: dict[str, Any] = {}
    for name, (materials, sizes, price) in PRODUCTS.items():
        variants: dict[str, Any] = {}
        for number, (material, size) in enumerate((material, size) for material in materials for size in sizes):
            key = f"{name.replace(' ', '-')}-{number + 1}"
            variants[key] = {
                "name": f"{material} {size} {name}",
                "price": price + 100 * number + 10 * randint(rng, 0, 9),
                "stock": randint(rng, 1, 9),
            }
        products[name] = variants
    return products


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
    """Draw a street address."""
    return f"{randint(rng, 1, 99)} {choice(rng, STREETS)}, {choice(rng, TOWNS)}"


def _add_order(
    rng: RandomSource, shop: Shop, customer: str, status: str, count: int, products: list[str] | None = None
) -> None:
    number = f"W{randint(rng, 1000, 9999)}"
    while number in shop["orders"]:
        number = f"W{randint(rng, 1000, 9999)}"
    items = []
    for name in products or sample(rng, list(PRODUCTS), count):
        item = choice(rng, list(shop["products"][name]))
        items.append({"item": item, "price": shop["products"][name][item]["price"], "status": ""})
    delivery_days = {"delivered": (3, 25), "old": (40, 90), "final sale": (3, 25)}.get(status)
    order: Order = {
        "customer": customer,
        "status": "delivered" if delivery_days else status,
        "days": randint(rng, *delivery_days) if delivery_days else None,
        "final_sale": status == "final sale",
        "items": items,
        "address": shop["customers"][customer]["address"],
        "payment": choice(rng, PAYMENTS[:2]),
        "refunds": [],
    }
    shop["orders"][number] = order
    shop["customers"][customer]["orders"].append(number)


# ------------------------------------------------------------------ words


def format_money(cents: int) -> str:
    """An amount of money as text: 24.90."""
    return f"{cents // 100}.{cents % 100:02d}"


def find_variant(shop: Shop, item: str) -> dict[str, Any]:
    """Name, price and stock of a variant.

    Raises:
        ToolRefusal: if there is no variant with this id.
    """
    for variants in shop["products"].values():
        if item in variants:
            result: dict[str, Any] = variants[item]
            return result
    raise ToolRefusal(f"There is no item {item}.")


def product_of(shop: Shop, item: str) -> str:
    """The product that a variant belongs to."""
    return next(str(name) for name, variants in shop["products"].items() if item in variants)


def order_total(order: Order) -> int:
    """The sum of the prices of an order's items, in cents."""
    return sum(int(line["price"]) for line in order["items"])


# ------------------------------------------------------------------ tools that read


def find_customer(shop: Shop, email: str = "", name: str = "", zip: str = "") -> str:  # noqa: A002
    """The customer with this e-mail address, or with this name and zip code."""
    for key, customer in shop["customers"].items():
        is_name_match = name and zip and customer["name"].lower() == name.lower() and customer["zip"] == zip
        if (email and customer["email"] == email.lower()) or is_name_match:
            orders = ", ".join(customer["orders"])
            return f"Customer {key}: {customer['name']}, {customer['email']}, {customer['address']}. Orders: {orders}."
    raise ToolRefusal("No customer has this e-mail address, or this name together with this zip code.")


def show_order(shop: Shop, order: str) -> str:
    """Status, items, prices, address and payment of an order."""
    record = _find_order(shop, order)
    lines = [f"Order {order} of customer {record['customer']}: {record['status']}{_delivery_text(record)}."]
    for line in record["items"]:
        status = f", {line['status']}" if line["status"] else ""
        lines.append(
            f"- {line['item']}: {find_variant(shop, line['item'])['name']}, {format_money(line['price'])}{status}"
        )
    lines.append(f"Total {format_money(order_total(record))}, paid by {record['payment']}. To: {record['address']}.")
    return "\n".join(lines)


def _delivery_text(order: Order) -> str:
    sale = ", final sale" if order["final_sale"] else ""
    return sale if order["days"] is None else f" {order['days']} days ago{sale}"


def show_product(shop: Shop, product: str) -> str:
    """All variants of a product with their prices and stock."""
    variants = shop["products"].get(product.lower())
    if variants is None:
        raise ToolRefusal(f"There is no product {product}; there is {', '.join(shop['products'])}.")
    return "\n".join(
        f"- {key}: {variant['name']}, {format_money(variant['price'])}, {variant['stock'] or 'none'} in stock"
        for key, variant in variants.items()
    )


# ------------------------------------------------------------------ tools that change something


def cancel_order(shop: Shop, order: str, reason: str) -> str:
    """Cancel a pending order; the reason is "no longer needed" or "ordered by mistake"."""
    record = _find_pending_order(shop, order)
    if reason.lower() not in CANCEL_REASONS:
        raise ToolRefusal(f"The reason is one of: {', '.join(CANCEL_REASONS)}.")
    record["status"] = "cancelled"
    record["refunds"].append([record["payment"], order_total(record)])
    return f"Order {order} is cancelled; {format_money(order_total(record))} goes back by {record['payment']}."


def change_address(shop: Shop, order: str, address: str) -> str:
    """Send a pending order to another address."""
    _find_pending_order(shop, order)["address"] = address
    return f"Order {order} goes to {address}."


def change_item(shop: Shop, order: str, item: str, new_item: str) -> str:
    """Change an item of a pending order for another variant of the same product."""
    record = _find_pending_order(shop, order)
    line = _find_item_line(record, order, item)
    price = _check_exchange(shop, item, new_item)
    line["item"], line["price"] = new_item, price
    return f"Order {order} has {find_variant(shop, new_item)['name']} now, for {format_money(price)}."


def return_item(shop: Shop, order: str, item: str, refund_to: str) -> str:
    """Take back an item of a delivered order; the refund goes to the original payment or to a gift card."""
    record = _find_delivered_order(shop, order)
    line = _find_item_line(record, order, item)
    if refund_to.lower() not in (record["payment"], "gift card"):
        raise ToolRefusal(f"The refund goes by {record['payment']} or to a gift card.")
    line["status"] = "return requested"
    record["refunds"].append([refund_to.lower(), line["price"]])
    return f"The return of {item} is requested; {format_money(line['price'])} goes back by {refund_to.lower()}."


def exchange_item(shop: Shop, order: str, item: str, new_item: str) -> str:
    """Exchange an item of a delivered order for another variant of the same product, or a damaged one for the same."""
    record = _find_delivered_order(shop, order)
    line = _find_item_line(record, order, item)
    _check_exchange(shop, item, new_item)
    line["status"] = f"exchange for {new_item} requested"
    return f"The exchange of {item} for {new_item} is requested."


def refund_damaged(shop: Shop, order: str, item: str) -> str:
    """Refund a damaged item of a delivered order without taking it back."""
    record = _find_delivered_order(shop, order)
    line = _find_item_line(record, order, item)
    if line["price"] > MAX_CENTS_WITHOUT_RETURN:
        raise ToolRefusal(
            f"Only items up to {format_money(MAX_CENTS_WITHOUT_RETURN)} are refunded without being sent back."
        )
    line["status"] = "refunded as damaged"
    record["refunds"].append([record["payment"], line["price"]])
    return f"{format_money(line['price'])} for {item} goes back by {record['payment']}."


def change_profile(shop: Shop, customer: str, address: str) -> str:
    """Change the address in a customer's profile; orders keep theirs."""
    if customer not in shop["customers"]:
        raise ToolRefusal(f"There is no customer {customer}.")
    shop["customers"][customer]["address"] = address
    return f"The address of {customer} is {address}."


def escalate(shop: Shop, reason: str) -> str:
    """Hand the conversation over to a colleague, which ends it; the reason is "lost parcel", "legal" or "other"."""
    if reason.lower() not in ESCALATIONS:
        raise ToolRefusal(f"The reason is one of: {', '.join(ESCALATIONS)}.")
    shop["tickets"].append(reason.lower())
    return "A colleague takes over."


def _find_order(shop: Shop, order: str) -> Order:
    if order not in shop["orders"]:
        raise ToolRefusal(f"There is no order {order}.")
    record: Order = shop["orders"][order]
    return record


def _find_pending_order(shop: Shop, order: str) -> Order:
    record = _find_order(shop, order)
    if record["status"] != "pending":
        raise ToolRefusal(f"Order {order} is {record['status']}; only pending orders can be changed.")
    return record


def _find_delivered_order(shop: Shop, order: str) -> Order:
    record = _find_order(shop, order)
    if record["status"] != "delivered":
        raise ToolRefusal(f"Order {order} is {record['status']}, not delivered.")
    return record


def _find_item_line(order: Order, number: str, item: str) -> dict[str, Any]:
    for line in order["items"]:
        if line["item"] == item:
            if line["status"]:
                raise ToolRefusal(f"{item} of order {number} is {line['status']} already.")
            result: dict[str, Any] = line
            return result
    raise ToolRefusal(f"Order {number} has no item {item}.")


def _check_exchange(shop: Shop, item: str, new_item: str) -> int:
    """The price of the new item in cents.

    Raises:
        ToolRefusal: if the new item is of another product or out of stock.
    """
    new_variant = find_variant(shop, new_item)
    if product_of(shop, item) != product_of(shop, new_item):
        raise ToolRefusal("An item can only be exchanged for another variant of the same product.")
    if not new_variant["stock"]:
        raise ToolRefusal(f"{new_item} is not in stock.")
    return int(new_variant["price"])


TOOLS: Mapping[str, Callable[..., str]] = {
    tool.__name__: tool
    for tool in (
        find_customer, show_order, show_product, cancel_order, change_address, change_item, return_item,
        exchange_item, refund_damaged, change_profile, escalate,
    )
}  # fmt: skip
READ_ONLY_TOOLS = ("find_customer", "show_order", "show_product")


def required_arguments(tool: Callable[..., str]) -> dict[str, bool]:
    """The names of a tool's arguments, each with whether it is required."""
    parameters = list(inspect.signature(tool).parameters.values())[1:]
    return {parameter.name: parameter.default is parameter.empty for parameter in parameters}


def form_of(name: str, known: Sequence[str]) -> ToolForm:
    """A tool as a form for people; `known` are the numbers of orders, customers and items that were named so far."""
    fields = []
    for argument, is_required in required_arguments(TOOLS[name]).items():
        field = FormField(name=argument, type="string", required=is_required)
        begins = _BEGINNINGS.get(argument)
        if argument == "reason":
            field["type"], field["choices"] = "choice", list(ESCALATIONS if name == "escalate" else CANCEL_REASONS)
        elif argument == "product":
            field["type"], field["choices"] = "choice", list(PRODUCTS)
        elif argument == "refund_to":
            field["type"], field["choices"] = "choice", list(PAYMENTS)
        elif begins:
            field["suggestions"] = [number for number in known if re.match(begins, number)]
        fields.append(field)
    description = (TOOLS[name].__doc__ or "").strip()
    return ToolForm(
        name=name, control="form", description=description, fields=fields, style="pairs", before=f"\\boxed{{{name}",
        after="}",
    )  # fmt: skip


_BEGINNINGS = {"order": r"W\d", "customer": r"C\d", "item": r"[a-z-]+-\d", "new_item": r"[a-z-]+-\d"}
"""How the numbers begin that an argument may have."""
NUMBER_PATTERN = re.compile(r"\b(?:W\d{4}|C\d{3}|[a-z]+(?:-[a-z]+)?-\d+)\b")
"""The numbers of orders, customers and items in a text."""


def describe_tool(name: str) -> str:
    """The line about a tool in the instructions."""
    tool = TOOLS[name]
    arguments = " ".join(f"{argument}=..." for argument in required_arguments(tool))
    return f"{name} {arguments}: {(tool.__doc__ or '').strip()}"


def call_tool(shop: Shop, name: str, arguments: Mapping[str, str]) -> str:
    """Call a tool and return its answer.

    Raises:
        ToolRefusal: if there is no such tool, it takes other arguments, or it cannot do what was asked.
    """
    tool = TOOLS.get(name)
    if tool is None:
        raise ToolRefusal(f"There is no tool {name}; there is say, {', '.join(TOOLS)}.")
    is_required = required_arguments(tool)
    wrong_arguments = [argument for argument in arguments if argument not in is_required] or [
        argument for argument in is_required if is_required[argument] and not arguments.get(argument)
    ]
    if wrong_arguments:
        raise ToolRefusal(f"{name} is written so: {describe_tool(name)}")
    return tool(shop, **arguments)
