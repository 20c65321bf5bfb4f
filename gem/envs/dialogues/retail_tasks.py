"""What customers of the shop want: task templates that are filled in from a seed.

A task is plain JSON: the customer's `goals` in order (what they say, the facts that they give when asked, and where
they have one the goal that they fall back on when refused), the tool calls that a right treatment makes (`expected`)
and what they have to be told (`info`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gem.envs.dialogues import shop as shops
from gem.envs.dialogues.shop import CHEAP, Shop, draw_address, money, product_of, total, variant
from gem.rng import RandomSource, choice

Task = dict[str, Any]
Goal = dict[str, Any]

PAST_SALE = "I know that it was some time ago."


class Draft:
    """A task while it is written."""

    def __init__(self, rng: RandomSource, shop: Shop, caller: str, hard: bool) -> None:
        self.rng, self.shop, self.caller, self.hard = rng, shop, caller, hard
        self.goals: list[Goal] = []
        self.expected: list[list[Any]] = []
        self.info: list[str] = []

    def order(self, status: str, *, items: int | None = None) -> str:
        """One of the caller's orders in this state; "old" and "final sale" are delivered ones."""
        return choice(self.rng, [str(one) for one in self.orders(status) if items in (None, len(self.items(one)))])

    def orders(self, status: str) -> list[str]:
        """All of the caller's orders in this state."""
        return [one for one in self.shop["customers"][self.caller]["orders"] if self._state(one) == status]

    def _state(self, order: str) -> str:
        found = self.shop["orders"][order]
        if found["status"] != "delivered":
            return str(found["status"])
        return "final sale" if found["final_sale"] else "old" if found["days"] > shops.RETURN_DAYS else "delivered"

    def items(self, order: str) -> list[str]:
        """The items of an order."""
        return [line["item"] for line in self.shop["orders"][order]["items"]]

    def item(self, order: str) -> str:
        """One of the items of an order."""
        return choice(self.rng, self.items(order))

    def name(self, item: str) -> str:
        """A variant as customers call it."""
        return str(variant(self.shop, item)["name"])

    def other(self, item: str) -> str:
        """Another variant of the same product."""
        variants: list[str] = list(self.shop["products"][product_of(self.shop, item)])
        return choice(self.rng, [one for one in variants if one != item])

    def goal(self, say: str, order: str | None = None, *, fallback: bool = False, **facts: str) -> None:
        """Add what the customer wants next, or falls back on when the last goal is refused."""
        if order is not None:
            facts["order"] = f"It is order {order}."
            if self.hard:
                product = product_of(self.shop, self.items(order)[0])
                facts["order"] = f"I do not have the number at hand. It is the one with the {product}."
        goal: Goal = {"say": say, "facts": facts, "fallback": None, "refuse": False}
        if fallback:
            self.goals[-1]["fallback"] = goal
        else:
            self.goals.append(goal)

    def refused(self) -> None:
        """The policy forbids what was added last: the customer has to be told."""
        self.goals[-1]["refuse"] = True

    def expect(self, tool: str, **given: str) -> None:
        """A call that belongs to the right treatment."""
        self.expected.append([tool, given])


def a_item(t: Draft, item: str) -> str:
    """How a customer answers which item it is."""
    return f"It is the {t.name(item)}."


def refund(t: Draft, order: str) -> tuple[str, str]:
    """Where the money shall go, and how the customer says so."""
    if choice(t.rng, (True, False)):
        return "gift card", "Put the money on a gift card, please."
    paid = t.shop["orders"][order]["payment"]
    return paid, "Send the money back the way I paid, please."


# ------------------------------------------------------------------ one goal


def cancel(t: Draft) -> None:
    """Cancel a pending order."""
    order, reason = t.order("pending"), choice(t.rng, shops.CANCEL_REASONS)
    why = "I do not need it any more." if reason == "no longer needed" else "I ordered it by mistake."
    t.goal("I want to cancel an order.", order, reason=why)
    t.expect("cancel_order", order=order, reason=reason)


def redirect(t: Draft) -> None:
    """Send a pending order elsewhere."""
    order, address = t.order("pending"), draw_address(t.rng)
    t.goal("An order should go to another address.", order, address=f"The address is {address}.")
    t.expect("change_address", order=order, address=address)


def swap(t: Draft) -> None:
    """Change an item of a pending order."""
    order = t.order("pending")
    item = t.item(order)
    new = t.other(item)
    t.goal(
        "I would like to change an item of an order that has not been sent yet.",
        order,
        item=a_item(t, item),
        new=f"I would like the {t.name(new)} instead.",
    )
    t.expect("change_item", order=order, item=item, new_item=new)


def give_back(t: Draft) -> None:
    """Return a delivered item in time."""
    order = t.order("delivered")
    item = t.item(order)
    where, words = refund(t, order)
    t.goal("I want to return something that I bought.", order, item=a_item(t, item), refund=words)
    t.expect("return_item", order=order, item=item, refund_to=where)


def exchange(t: Draft) -> None:
    """Exchange a delivered item in time."""
    order = t.order("delivered")
    item = t.item(order)
    new = t.other(item)
    t.goal(
        "I want to exchange something that arrived.",
        order,
        item=a_item(t, item),
        new=f"I would like the {t.name(new)} instead.",
    )
    t.expect("exchange_item", order=order, item=item, new_item=new)


def status(t: Draft) -> None:
    """Learn the status of an order."""
    state = choice(t.rng, ("pending", "shipped"))
    order = t.order(state)
    t.goal("I want to know the status of an order.", order)
    t.info.append(state)


def cost(t: Draft) -> None:
    """Learn the total of an order."""
    order = t.order("pending", items=2)
    t.goal("I want to know the total of an order.", order)
    t.info.append(money(total(t.shop["orders"][order])))


def price(t: Draft) -> None:
    """Learn the price of an article."""
    product = choice(t.rng, list(t.shop["products"]))
    item = choice(t.rng, list(t.shop["products"][product]))
    t.goal("I want to know the price of an article.", item=f"It is about the {t.name(item)}.")
    t.info.append(money(variant(t.shop, item)["price"]))


def move(t: Draft) -> None:
    """Change the address in the profile."""
    address = draw_address(t.rng)
    t.goal("I have moved. Please change the address in my profile.", address=f"The address is {address}.")
    t.expect("change_profile", customer=t.caller, address=address)


def broken(t: Draft) -> None:
    """Be paid for a broken item, or get another one."""
    order = t.order("delivered")
    item = t.item(order)
    t.goal("Something arrived broken.", order, item=a_item(t, item))
    if variant(t.shop, item)["price"] <= CHEAP:
        t.expect("refund_damaged", order=order, item=item)
    else:
        t.expect("exchange_item", order=order, item=item, new_item=item)


def lost(t: Draft) -> None:
    """Report a lost parcel, which a colleague takes over."""
    t.goal("My parcel has been lost on the way.", t.order("shipped"))
    t.expect("escalate", reason="lost parcel")


def lawyer(t: Draft) -> None:
    """Threaten with a lawyer, which a colleague takes over."""
    t.goal("I am going to send my lawyer, unless you pay me damages.", t.order("old"))
    t.expect("escalate", reason="legal")


# ------------------------------------------------------------------ several goals, or against the policy


def cancel_shipped(t: Draft) -> None:
    """Cancel an order that has left the shop, which cannot be."""
    t.goal("I want to cancel an order.", t.order("shipped"), reason="I do not need it any more.")
    t.refused()


def return_late(t: Draft) -> None:
    """Return an item after too many days, which cannot be."""
    order = t.order("old")
    where = refund(t, order)[1]
    t.goal(f"I want to return something that I bought. {PAST_SALE}", order, item=a_item(t, t.item(order)), refund=where)
    t.refused()


def return_final(t: Draft) -> None:
    """Return an item of a final sale, which cannot be."""
    order = t.order("final sale")
    where = refund(t, order)[1]
    t.goal("I want to return something that I bought.", order, item=a_item(t, t.item(order)), refund=where)
    t.refused()


def discount(t: Draft) -> None:
    """Ask for a discount, which there is not."""
    t.goal("I saw it cheaper elsewhere and want a discount on an order.", t.order("pending"))
    t.refused()


def not_theirs(t: Draft) -> None:
    """The order of somebody else."""
    others = [one for one, found in t.shop["orders"].items() if found["customer"] != t.caller]
    order = choice(t.rng, others)
    t.goal("I want to know the total of an order of a friend.")
    t.goals[-1]["facts"]["order"] = f"It is order {order}."
    t.refused()


def sold_out(t: Draft) -> None:
    """The wanted variant is not there; another one will do."""
    order = t.order("pending")
    item = t.item(order)
    gone = t.other(item)
    variants = t.shop["products"][product_of(t.shop, item)]
    variants[gone]["stock"] = 0
    second = choice(t.rng, [one for one in variants if one not in (item, gone)])
    say = "I would like to change an item of an order that has not been sent yet."
    t.goal(say, order, item=a_item(t, item), new=f"I would like the {t.name(gone)} instead.")
    t.refused()
    words = f"I would like the {t.name(second)} instead."
    t.goal(f"Then I want to change it for another one. {words}", order, fallback=True, item=a_item(t, item), new=words)
    t.expect("change_item", order=order, item=item, new_item=second)


def late_then_status(t: Draft) -> None:
    """Be refused a return, and ask for the status of another order."""
    return_late(t)
    t.goal("Then I want to know the status of an order.", t.order("shipped"), fallback=True)
    t.info.append("shipped")


def shipped_then_cancel(t: Draft) -> None:
    """Be refused a cancellation, and cancel another order."""
    cancel_shipped(t)
    order = t.order("pending")
    t.goal("Then I want to cancel another order.", order, fallback=True, reason="I ordered it by mistake.")
    t.expect("cancel_order", order=order, reason="ordered by mistake")


def move_with_orders(t: Draft) -> None:
    """Change the address in the profile and that of a pending order."""
    move(t)
    address = t.expected[-1][1]["address"]
    order = t.order("pending")
    t.goal("An order should go to my new address, too.", order, address=f"The address is {address}.")
    t.expect("change_address", order=order, address=address)


def cancel_both(t: Draft) -> None:
    """Cancel both pending orders."""
    for order in t.orders("pending"):
        t.goal("I want to cancel an order.", order, reason="I do not need it any more.")
        t.expect("cancel_order", order=order, reason="no longer needed")


def return_all(t: Draft) -> None:
    """Return both items of an order."""
    order = t.order("delivered")
    where, words = refund(t, order)
    for item in t.items(order):
        t.goal("I want to return something that I bought.", order, item=a_item(t, item), refund=words)
        t.expect("return_item", order=order, item=item, refund_to=where)


def cancel_and_return(t: Draft) -> None:
    """Cancel an order and return an item of another."""
    cancel(t)
    give_back(t)


def swap_and_redirect(t: Draft) -> None:
    """Change an item of an order and send an order elsewhere."""
    swap(t)
    redirect(t)


def return_and_cost(t: Draft) -> None:
    """Return an item and learn the total of another order."""
    give_back(t)
    cost(t)


def broken_and_status(t: Draft) -> None:
    """Report a broken item and learn the status of an order."""
    broken(t)
    status(t)


def exchange_and_price(t: Draft) -> None:
    """Exchange an item and learn the price of an article."""
    exchange(t)
    price(t)


def move_and_discount(t: Draft) -> None:
    """Change the address in the profile, and ask for a discount."""
    move(t)
    discount(t)


Template = Callable[[Draft], None]
EASY: Mapping[str, Template] = {
    one.__name__: one
    for one in (cancel, redirect, swap, give_back, exchange, status, cost, price, move, broken, lost, lawyer)
}
HARD: Mapping[str, Template] = {
    one.__name__: one
    for one in (
        cancel_shipped, return_late, return_final, discount, not_theirs, sold_out, late_then_status,
        shipped_then_cancel, move_with_orders, cancel_both, return_all, cancel_and_return, swap_and_redirect,
        return_and_cost, broken_and_status, exchange_and_price, move_and_discount,
    )
}  # fmt: skip
TEMPLATES: Mapping[str, Template] = {**EASY, **HARD}


def draw_task(rng: RandomSource, shop: Shop, caller: str, template: str, *, hard: bool) -> Task:
    """The task of this template for the caller; it may change what is in stock.

    With `hard`, customers have no order numbers at hand.
    """
    draft = Draft(rng, shop, caller, hard)
    TEMPLATES[template](draft)
    return {"template": template, "goals": draft.goals, "expected": draft.expected, "info": draft.info}
