"""Retail: a scripted assistant that reads the conversation and what the tools have shown, and keeps to the policy.

It understands the customer by key words, asks for what it needs in one question, looks orders up until it knows which
one is meant, acts or refuses, and asks whether there is anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gem.agents.agent import Decision
from gem.envs.dialogues.retail import Retail
from gem.envs.dialogues.shop import CANCEL_REASONS, CHEAP, RETURN_DAYS, money, product_of, total, variant

MORE = "Is there anything else that I can do for you?"
WHO = "Could you tell me your e-mail address, or your name and zip code?"
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
    """Something that customers want: the words that show it, and what has to be known."""

    words: str
    needs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Case:
    """What is known when the assistant can act."""

    env: Retail
    order: str
    """Empty if it is about none."""
    words: str
    """All that the customer has said since they named what they want."""
    customer: str
    """What the shop's data say about the customer."""


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
    """The next action: identify, understand, ask, look up, act, answer."""
    past = env.messages
    customer = _customer(past)
    if customer is None:
        return _identify(past)
    begin = _begin_of_goal(past)
    goal = past[begin:]
    words = " ".join(text for side, text in goal if side == "other")
    intent = next((name for name, one in INTENTS.items() if re.search(one.words, goal[0][1])), None)
    if intent is None:
        return _say(f"I am sorry, I cannot help with that. {MORE}", "Nothing known is asked for.")
    if intent in _ALWAYS:
        return _ALWAYS[intent]
    needs = INTENTS[intent].needs
    question = " ".join(QUESTIONS[need] for need in needs)
    if needs and ["own", question] not in goal:
        return _say(question, "Ask for everything that is needed at once.")
    done = [text for side, text in goal if side == "tool" and _DONE.search(text)]
    if done:
        return _say(f"{done[-1]} {MORE}", "It is done.")
    if intent == "price":
        return _price(env, words)
    order = ""
    if "order" in needs:
        missing = _next_order(env, words, customer)
        if missing is not None:
            return missing
        order = _order(env, words, customer)
        if not order:
            return _refuse("I cannot find this order of yours.")
    return _ACTIONS[intent](Case(env, order, words, customer))


# ------------------------------------------------------------------ reading


_DONE = re.compile(r"is cancelled;|goes to|has .* now|is requested|goes back|The address of C\d+ is")


def _customer(past: list[list[str]]) -> str | None:
    """What the shop's data say about the customer; None before they were found."""
    return next((text for side, text in past if side == "tool" and text.startswith("Customer ")), None)


def _identify(past: list[list[str]]) -> Decision:
    said = " ".join(text for side, text in past if side == "other")
    email = re.search(r"e-mail address is (\S+@\S+\w)", said)
    name = re.search(r"name is ([\w ]+), and my zip code is (\d+)", said)
    if email:
        return _tool("find_customer", "Identify the customer.", email=email[1])
    if name:
        return _tool("find_customer", "Identify the customer.", name=name[1], zip=name[2])
    return _say(WHO, "Identify the customer first.")


def _begin_of_goal(past: list[list[str]]) -> int:
    """The index of the customer's message that began what they want now."""
    begin = 0
    for number, (side, text) in enumerate(past):
        before = past[number - 1] if number else ["", ""]
        if side == "other" and (text.startswith("Then ") or (before[0] == "own" and MORE in before[1])):
            begin = number
    return begin


def _next_order(env: Retail, words: str, customer: str) -> Decision | None:
    """Look the named order up, or the next one until the described item is found; None if that is done."""
    numbers = re.findall(r"W\d+", customer)
    named = [one for one in re.findall(r"W\d+", words) if one in numbers]
    for number in named or numbers:
        if number not in env.seen:
            return _tool("show_order", "See which order it is.", order=number)
        if not named and _holds(env, number, words):
            break
    return None


def _order(env: Retail, words: str, customer: str) -> str:
    """The order that the customer means; empty if it is none of theirs."""
    numbers = re.findall(r"W\d+", customer)
    named = [one for one in re.findall(r"W\d+", words) if one in numbers]
    found = named or [one for one in numbers if one in env.seen and _holds(env, one, words)]
    return found[0] if found else ""


def _holds(env: Retail, number: str, words: str) -> bool:
    """Whether the words say that the order has a certain item."""
    described = re.search(r"the one with the ([\w -]+)\.", words)
    lines = env.shop["orders"][number]["items"]
    return described is not None and any(product_of(env.shop, line["item"]) == described[1] for line in lines)


def _item(env: Retail, order: str, words: str) -> str:
    """The item of the order that the customer names; the first one if none is clear."""
    items = [str(line["item"]) for line in env.shop["orders"][order]["items"]]
    named = re.findall(r"It is the ([\w -]+)\.", words)
    return next((one for one in items if variant(env.shop, one)["name"] in named), items[0])


def _variant(env: Retail, item: str, words: str) -> str | None:
    """The variant of the item's product that the customer wants instead."""
    named = re.findall(r"the ([\w -]+) instead", words)
    variants = env.shop["products"][product_of(env.shop, item)]
    return next((key for key, one in variants.items() if one["name"] in named), None)


# ------------------------------------------------------------------ acting


def _cancel(case: Case) -> Decision:
    if case.env.shop["orders"][case.order]["status"] != "pending":
        return _refuse("The order has left the shop.")
    reason = CANCEL_REASONS["mistake" in case.words]
    return _tool("cancel_order", "A pending order may be cancelled.", order=case.order, reason=reason)


def _redirect(case: Case) -> Decision:
    if case.env.shop["orders"][case.order]["status"] != "pending":
        return _refuse("The order has left the shop.")
    return _tool("change_address", "A pending order may go elsewhere.", order=case.order, address=_address(case.words))


def _profile(case: Case) -> Decision:
    key = case.customer.split()[1].rstrip(":")
    return _tool("change_profile", "The profile is theirs.", customer=key, address=_address(case.words))


def _address(words: str) -> str:
    found = re.findall(r"The address is ([^.]+)\.", words)
    return str(found[-1]) if found else ""


def _swap(case: Case) -> Decision:
    if case.env.shop["orders"][case.order]["status"] != "pending":
        return _refuse("The order has left the shop.")
    return _replace(case.env, "change_item", case.order, case.words)


def _exchange(case: Case) -> Decision:
    return _late(case.env, case.order) or _replace(case.env, "exchange_item", case.order, case.words)


def _replace(env: Retail, tool: str, order: str, words: str) -> Decision:
    item = _item(env, order, words)
    product = product_of(env.shop, item)
    if product not in env.seen:
        return _tool("show_product", "See which variants there are.", product=product)
    new = _variant(env, item, words)
    if new is None or not variant(env.shop, new)["stock"]:
        return _refuse("This variant is not in stock.")
    return _tool(tool, "The variant is in stock.", order=order, item=item, new_item=new)


def _return(case: Case) -> Decision:
    where = "gift card" if "gift card" in case.words else case.env.shop["orders"][case.order]["payment"]
    item = _item(case.env, case.order, case.words)
    return _late(case.env, case.order) or _tool(
        "return_item", "It may be returned.", order=case.order, item=item, refund_to=where
    )


def _late(env: Retail, order: str) -> Decision | None:
    """The refusal of a return, if the policy forbids it."""
    found = env.shop["orders"][order]
    if found["status"] != "delivered":
        return _refuse("The order has not been delivered.")
    if found["final_sale"]:
        return _refuse("It was a final sale.")
    if found["days"] > RETURN_DAYS:
        return _refuse(f"It was delivered more than {RETURN_DAYS} days ago.")
    return None


def _broken(case: Case) -> Decision:
    item = _item(case.env, case.order, case.words)
    if next(line["price"] for line in case.env.shop["orders"][case.order]["items"] if line["item"] == item) <= CHEAP:
        return _tool("refund_damaged", "It was cheap.", order=case.order, item=item)
    return _tool("exchange_item", "It was too dear to keep.", order=case.order, item=item, new_item=item)


def _status(case: Case) -> Decision:
    return _say(
        f"The order {case.order} is {case.env.shop['orders'][case.order]['status']}. {MORE}", "The data say so."
    )


def _total(case: Case) -> Decision:
    return _say(
        f"The order {case.order} costs {money(total(case.env.shop['orders'][case.order]))}. {MORE}",
        "The data say so.",
    )


def _price(env: Retail, words: str) -> Decision:
    named = re.findall(r"about the ([\w -]+)\.", words)
    product = next((one for one in env.shop["products"] if named and named[-1].endswith(one)), None)
    if product is None:
        return _refuse("I do not know this article.")
    if product not in env.seen:
        return _tool("show_product", "See what it costs.", product=product)
    cents = next(one["price"] for one in env.shop["products"][product].values() if one["name"] == named[-1])
    return _say(f"The {named[-1]} costs {money(cents)}. {MORE}", "The data say so.")


_ACTIONS: Mapping[str, Callable[[Case], Decision]] = {
    "broken": _broken,
    "cancel": _cancel,
    "exchange": _exchange,
    "profile": _profile,
    "redirect": _redirect,
    "return": _return,
    "status": _status,
    "swap": _swap,
    "total": _total,
}


def _refuse(why: str) -> Decision:
    return _say(f"I am sorry, that is not possible. {why} {MORE}", "The policy forbids it.")


def _say(text: str, note: str) -> Decision:
    return Decision(f"\\boxed{{say {text}}}", note)


def _tool(tool: str, note: str, **given: str) -> Decision:
    words = " ".join(f'{argument}="{value}"' for argument, value in given.items())
    return Decision(f"\\boxed{{{tool} {words}}}", note)


_ALWAYS: Mapping[str, Decision] = {
    "discount": _refuse("There are no discounts."),
    "friend": _refuse("I may only speak of your own orders."),
    "legal": _tool("escalate", "The policy hands legal matters over.", reason="legal"),
    "lost": _tool("escalate", "The policy hands lost parcels over.", reason="lost parcel"),
}
"""What is decided without knowing more."""
