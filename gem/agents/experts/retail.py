"""The expert for Retail: a scripted assistant that follows the policy.

It reads the conversation and the answers of the tools. It understands the customer by keywords, asks for everything
that it needs in one question, looks orders up until it knows which one the customer means, acts or refuses, and asks
whether there is anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gem.agents.agent import Decision
from gem.envs.dialogues.retail import Retail
from gem.envs.dialogues.shop import (
    CANCEL_REASONS,
    MAX_CENTS_WITHOUT_RETURN,
    RETURN_DAYS,
    find_variant,
    format_money,
    order_total,
    product_of,
)

ANYTHING_ELSE = "Is there anything else that I can do for you?"
WHO_ARE_YOU = "Could you tell me your e-mail address, or your name and zip code?"
QUESTIONS = {
    "order": "Which order is it?",
    "item": "Which item is it?",
    "new": "Which variant would you like instead?",
    "reason": "What is the reason?",
    "address": "What is the address?",
    "refund": "Where should the refund go?",
}


@dataclass(frozen=True, slots=True)
class Intent:
    """Something that customers may want."""

    words: str
    """A regular expression that finds it in the customer's message."""
    needs: tuple[str, ...]
    """The facts that the assistant has to ask for, as keys of `QUESTIONS`."""


@dataclass(frozen=True, slots=True)
class Case:
    """Everything that the assistant knows when it can act."""

    env: Retail
    order: str
    """The order's number; empty if the customer's request is not about an order."""
    words: str
    """All messages of the customer since they named what they want."""
    customer: str
    """The answer of the tool `find_customer`."""


INTENTS: Mapping[str, Intent] = {
    "lost": Intent(r"lost on the way", ()),
    "legal": Intent(r"lawyer", ()),
    "discount": Intent(r"discount", ()),
    "friend": Intent(r"of a friend", ()),
    "broken": Intent(r"broken", ("order", "item")),
    "profile": Intent(r"profile", ("address",)),
    "redirect": Intent(r"should go to", ("order", "address")),
    "cancel": Intent(r"cancel", ("order", "reason")),
    "return": Intent(r"return something", ("order", "item", "refund")),
    "exchange": Intent(r"exchange something", ("order", "item", "new")),
    "swap": Intent(r"change (?:an item|it)", ("order", "item", "new")),
    "status": Intent(r"status", ("order",)),
    "total": Intent(r"total", ("order",)),
    "price": Intent(r"price", ("item",)),
}


def serve(env: Retail) -> Decision:
    """Decide on the next action: identify the customer, understand the request, ask, look up, act or answer."""
    messages = env.messages
    customer = _find_customer_text(messages)
    if customer is None:
        return _identify(messages)
    start = _goal_start(messages)
    goal = messages[start:]
    words = " ".join(text for side, text in goal if side == "other")
    intent = next((name for name, one in INTENTS.items() if re.search(one.words, goal[0][1])), None)
    if intent is None:
        return _say(f"I am sorry, I cannot help with that. {ANYTHING_ELSE}", "Nothing known is asked for.")
    if intent in _FIXED_DECISIONS:
        return _FIXED_DECISIONS[intent]
    needs = INTENTS[intent].needs
    question = " ".join(QUESTIONS[need] for need in needs)
    if needs and ["own", question] not in goal:
        return _say(question, "Ask for everything that is needed at once.")
    results = [text for side, text in goal if side == "tool" and _DONE_PATTERN.search(text)]
    if results:
        return _say(f"{results[-1]} {ANYTHING_ELSE}", "It is done.")
    if intent == "price":
        return _tell_price(env, words)
    order = ""
    if "order" in needs:
        look_up = _look_up_order(env, words, customer)
        if look_up is not None:
            return look_up
        order = _find_order(env, words, customer)
        if not order:
            return _refuse("I cannot find this order of yours.")
    return _ACTIONS[intent](Case(env, order, words, customer))


# ------------------------------------------------------------------ reading


_DONE_PATTERN = re.compile(r"is cancelled;|goes to|has .* now|is requested|goes back|The address of C\d+ is")


def _find_customer_text(messages: list[list[str]]) -> str | None:
    """The answer of the tool `find_customer`; None before the customer was found."""
    return next((text for side, text in messages if side == "tool" and text.startswith("Customer ")), None)


def _identify(messages: list[list[str]]) -> Decision:
    customer_text = " ".join(text for side, text in messages if side == "other")
    email = re.search(r"e-mail address is (\S+@\S+\w)", customer_text)
    name = re.search(r"name is ([\w ]+), and my zip code is (\d+)", customer_text)
    if email:
        return _use_tool("find_customer", "Identify the customer.", email=email[1])
    if name:
        return _use_tool("find_customer", "Identify the customer.", name=name[1], zip=name[2])
    return _say(WHO_ARE_YOU, "Identify the customer first.")


def _goal_start(messages: list[list[str]]) -> int:
    """The index of the message in which the customer named what they want now."""
    start = 0
    for index, (side, text) in enumerate(messages):
        previous = messages[index - 1] if index else ["", ""]
        if side == "other" and (text.startswith("Then ") or (previous[0] == "own" and ANYTHING_ELSE in previous[1])):
            start = index
    return start


def _look_up_order(env: Retail, words: str, customer: str) -> Decision | None:
    """Look up the order that the customer named, or one after the other until one has the described product.

    None if no further look-up is needed.
    """
    numbers = re.findall(r"W\d+", customer)
    named_orders = [number for number in re.findall(r"W\d+", words) if number in numbers]
    for number in named_orders or numbers:
        if number not in env.looked_up:
            return _use_tool("show_order", "See which order it is.", order=number)
        if not named_orders and _contains_described_product(env, number, words):
            break
    return None


def _find_order(env: Retail, words: str, customer: str) -> str:
    """The number of the order that the customer means; empty if it is none of their orders."""
    numbers = re.findall(r"W\d+", customer)
    named_orders = [number for number in re.findall(r"W\d+", words) if number in numbers]
    matches = named_orders or [
        number for number in numbers if number in env.looked_up and _contains_described_product(env, number, words)
    ]
    return matches[0] if matches else ""


def _contains_described_product(env: Retail, number: str, words: str) -> bool:
    """Whether the customer describes the order by a product, and this order contains it."""
    match = re.search(r"the one with the ([\w -]+)\.", words)
    lines = env.shop["orders"][number]["items"]
    return match is not None and any(product_of(env.shop, line["item"]) == match[1] for line in lines)


def _find_item(env: Retail, order: str, words: str) -> str:
    """The item of the order that the customer names; the first item if they name none of them."""
    items = [str(line["item"]) for line in env.shop["orders"][order]["items"]]
    names = re.findall(r"It is the ([\w -]+)\.", words)
    return next((item for item in items if find_variant(env.shop, item)["name"] in names), items[0])


def _find_variant(env: Retail, item: str, words: str) -> str | None:
    """The variant of the same product that the customer wants instead; None if there is no such variant."""
    names = re.findall(r"the ([\w -]+) instead", words)
    variants = env.shop["products"][product_of(env.shop, item)]
    return next((key for key, variant in variants.items() if variant["name"] in names), None)


# ------------------------------------------------------------------ acting


def _cancel(case: Case) -> Decision:
    if case.env.shop["orders"][case.order]["status"] != "pending":
        return _refuse("The order has left the shop.")
    reason = CANCEL_REASONS["mistake" in case.words]
    return _use_tool("cancel_order", "A pending order may be cancelled.", order=case.order, reason=reason)


def _redirect(case: Case) -> Decision:
    if case.env.shop["orders"][case.order]["status"] != "pending":
        return _refuse("The order has left the shop.")
    return _use_tool(
        "change_address", "A pending order may go elsewhere.", order=case.order, address=_address(case.words)
    )


def _profile(case: Case) -> Decision:
    key = case.customer.split()[1].rstrip(":")
    return _use_tool("change_profile", "The profile is theirs.", customer=key, address=_address(case.words))


def _address(words: str) -> str:
    addresses = re.findall(r"The address is ([^.]+)\.", words)
    return str(addresses[-1]) if addresses else ""


def _swap(case: Case) -> Decision:
    if case.env.shop["orders"][case.order]["status"] != "pending":
        return _refuse("The order has left the shop.")
    return _replace(case.env, "change_item", case.order, case.words)


def _exchange(case: Case) -> Decision:
    return _return_refusal(case.env, case.order) or _replace(case.env, "exchange_item", case.order, case.words)


def _replace(env: Retail, tool: str, order: str, words: str) -> Decision:
    item = _find_item(env, order, words)
    product = product_of(env.shop, item)
    if product not in env.looked_up:
        return _use_tool("show_product", "See which variants there are.", product=product)
    new = _find_variant(env, item, words)
    if new is None or not find_variant(env.shop, new)["stock"]:
        return _refuse("This variant is not in stock.")
    return _use_tool(tool, "The variant is in stock.", order=order, item=item, new_item=new)


def _return(case: Case) -> Decision:
    refund_to = "gift card" if "gift card" in case.words else case.env.shop["orders"][case.order]["payment"]
    item = _find_item(case.env, case.order, case.words)
    return _return_refusal(case.env, case.order) or _use_tool(
        "return_item", "It may be returned.", order=case.order, item=item, refund_to=refund_to
    )


def _return_refusal(env: Retail, order: str) -> Decision | None:
    """A refusal if the policy forbids a return or an exchange; None if it allows it."""
    record = env.shop["orders"][order]
    if record["status"] != "delivered":
        return _refuse("The order has not been delivered.")
    if record["final_sale"]:
        return _refuse("It was a final sale.")
    if record["days"] > RETURN_DAYS:
        return _refuse(f"It was delivered more than {RETURN_DAYS} days ago.")
    return None


def _broken(case: Case) -> Decision:
    item = _find_item(case.env, case.order, case.words)
    if (
        next(line["price"] for line in case.env.shop["orders"][case.order]["items"] if line["item"] == item)
        <= MAX_CENTS_WITHOUT_RETURN
    ):
        return _use_tool("refund_damaged", "It was cheap.", order=case.order, item=item)
    return _use_tool("exchange_item", "It was too dear to keep.", order=case.order, item=item, new_item=item)


def _tell_status(case: Case) -> Decision:
    status = case.env.shop["orders"][case.order]["status"]
    return _say(f"The order {case.order} is {status}. {ANYTHING_ELSE}", "The data say so.")


def _tell_total(case: Case) -> Decision:
    cents = order_total(case.env.shop["orders"][case.order])
    return _say(f"The order {case.order} costs {format_money(cents)}. {ANYTHING_ELSE}", "The data say so.")


def _tell_price(env: Retail, words: str) -> Decision:
    names = re.findall(r"about the ([\w -]+)\.", words)
    product = next((name for name in env.shop["products"] if names and names[-1].endswith(name)), None)
    if product is None:
        return _refuse("I do not know this article.")
    if product not in env.looked_up:
        return _use_tool("show_product", "See what it costs.", product=product)
    cents = next(name["price"] for name in env.shop["products"][product].values() if name["name"] == names[-1])
    return _say(f"The {names[-1]} costs {format_money(cents)}. {ANYTHING_ELSE}", "The data say so.")


_ACTIONS: Mapping[str, Callable[[Case], Decision]] = {
    "broken": _broken,
    "cancel": _cancel,
    "exchange": _exchange,
    "profile": _profile,
    "redirect": _redirect,
    "return": _return,
    "status": _tell_status,
    "swap": _swap,
    "total": _tell_total,
}


def _refuse(reason: str) -> Decision:
    return _say(f"I am sorry, that is not possible. {reason} {ANYTHING_ELSE}", "The policy forbids it.")


def _say(text: str, note: str) -> Decision:
    return Decision(f"\\boxed{{say {text}}}", note)


def _use_tool(tool: str, note: str, **arguments: str) -> Decision:
    words = " ".join(f'{argument}="{value}"' for argument, value in arguments.items())
    return Decision(f"\\boxed{{{tool} {words}}}", note)


_FIXED_DECISIONS: Mapping[str, Decision] = {
    "discount": _refuse("There are no discounts."),
    "friend": _refuse("I may only speak of your own orders."),
    "legal": _use_tool("escalate", "The policy hands legal matters over.", reason="legal"),
    "lost": _use_tool("escalate", "The policy hands lost parcels over.", reason="lost parcel"),
}
"""Intents that the assistant answers in the same way whatever else it knows."""
