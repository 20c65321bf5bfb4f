"""What customers of the shop want: templates of tasks, which are filled in from a seed.

A task is plain JSON. `goals` lists what the customer wants, in order: for each goal what they say, the facts that they
give when asked, whether the policy forbids it, and the goal that they fall back on when refused, if any. `expected`
lists the tool calls of a correct treatment, and `info` the facts that the customer has to be told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from gem.envs.dialogues import shop as shops
from gem.envs.dialogues.shop import (
    MAX_CENTS_WITHOUT_RETURN,
    Shop,
    draw_address,
    find_variant,
    format_money,
    order_total,
    product_of,
)
from gem.rng import RandomSource, choice

Task = dict[str, Any]
Goal = dict[str, Any]

LATE_RETURN_NOTE = "I know that it was some time ago."


class TaskDraft:
    """A task under construction."""

    def __init__(self, rng: RandomSource, shop: Shop, caller: str, hard: bool) -> None:
        self.rng, self.shop, self.caller, self.hard = rng, shop, caller, hard
        self.goals: list[Goal] = []
        self.expected: list[list[Any]] = []
        self.info: list[str] = []

    def draw_order(self, status: str, *, items: int | None = None) -> str:
        """Draw one of the caller's orders in this state, with `items` items if given.

        The states "old" (too late for a return) and "final sale" are of delivered orders.
        """
        return choice(
            self.rng,
            [str(order) for order in self.orders_with_status(status) if items in (None, len(self.items(order)))],
        )

    def orders_with_status(self, status: str) -> list[str]:
        """All of the caller's orders in this state."""
        return [order for order in self.shop["customers"][self.caller]["orders"] if self._state(order) == status]

    def _state(self, order: str) -> str:
        record = self.shop["orders"][order]
        if record["status"] != "delivered":
            return str(record["status"])
        return "final sale" if record["final_sale"] else "old" if record["days"] > shops.RETURN_DAYS else "delivered"

    def items(self, order: str) -> list[str]:
        """The items of an order."""
        return [line["item"] for line in self.shop["orders"][order]["items"]]

    def draw_item(self, order: str) -> str:
        """Draw one of the items of an order."""
        return choice(self.rng, self.items(order))

    def item_name(self, item: str) -> str:
        """The name that customers use for an item."""
        return str(find_variant(self.shop, item)["name"])

    def other_variant(self, item: str) -> str:
        """Draw another variant of the same product."""
        variants: list[str] = list(self.shop["products"][product_of(self.shop, item)])
        return choice(self.rng, [key for key in variants if key != item])

    def add_goal(self, say: str, order: str | None = None, *, fallback: bool = False, **facts: str) -> None:
        """Add what the customer wants next, or with `fallback` what they want if the last goal is refused."""
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

    def mark_forbidden(self) -> None:
        """Note that the policy forbids the last goal, so that the customer has to be told."""
        self.goals[-1]["refuse"] = True

    def expect(self, tool: str, **arguments: str) -> None:
        """Add a tool call of the correct treatment."""
        self.expected.append([tool, arguments])


def item_answer(draft: TaskDraft, item: str) -> str:
    """How a customer answers which item it is."""
    return f"It is the {draft.item_name(item)}."


def draw_refund(draft: TaskDraft, order: str) -> tuple[str, str]:
    """Draw where the refund should go, and return it with the customer's answer."""
    if choice(draft.rng, (True, False)):
        return "gift card", "Put the money on a gift card, please."
    payment = draft.shop["orders"][order]["payment"]
    return payment, "Send the money back the way I paid, please."


# ------------------------------------------------------------------ one goal


def cancel(draft: TaskDraft) -> None:
    """Cancel a pending order."""
    order, reason = draft.draw_order("pending"), choice(draft.rng, shops.CANCEL_REASONS)
    answer = "I do not need it any more." if reason == "no longer needed" else "I ordered it by mistake."
    draft.add_goal("I want to cancel an order.", order, reason=answer)
    draft.expect("cancel_order", order=order, reason=reason)


def redirect(draft: TaskDraft) -> None:
    """Send a pending order elsewhere."""
    order, address = draft.draw_order("pending"), draw_address(draft.rng)
    draft.add_goal("An order should go to another address.", order, address=f"The address is {address}.")
    draft.expect("change_address", order=order, address=address)


def swap(draft: TaskDraft) -> None:
    """Change an item of a pending order."""
    order = draft.draw_order("pending")
    item = draft.draw_item(order)
    new = draft.other_variant(item)
    draft.add_goal(
        "I would like to change an item of an order that has not been sent yet.",
        order,
        item=item_answer(draft, item),
        new=f"I would like the {draft.item_name(new)} instead.",
    )
    draft.expect("change_item", order=order, item=item, new_item=new)


def give_back(draft: TaskDraft) -> None:
    """Return a delivered item in time."""
    order = draft.draw_order("delivered")
    item = draft.draw_item(order)
    refund_to, answer = draw_refund(draft, order)
    draft.add_goal("I want to return something that I bought.", order, item=item_answer(draft, item), refund=answer)
    draft.expect("return_item", order=order, item=item, refund_to=refund_to)


def exchange(draft: TaskDraft) -> None:
    """Exchange a delivered item in time."""
    order = draft.draw_order("delivered")
    item = draft.draw_item(order)
    new = draft.other_variant(item)
    draft.add_goal(
        "I want to exchange something that arrived.",
        order,
        item=item_answer(draft, item),
        new=f"I would like the {draft.item_name(new)} instead.",
    )
    draft.expect("exchange_item", order=order, item=item, new_item=new)


def status(draft: TaskDraft) -> None:
    """Learn the status of an order."""
    state = choice(draft.rng, ("pending", "shipped"))
    order = draft.draw_order(state)
    draft.add_goal("I want to know the status of an order.", order)
    draft.info.append(state)


def cost(draft: TaskDraft) -> None:
    """Learn the total of an order."""
    order = draft.draw_order("pending", items=2)
    draft.add_goal("I want to know the total of an order.", order)
    draft.info.append(format_money(order_total(draft.shop["orders"][order])))


def price(draft: TaskDraft) -> None:
    """Learn the price of an article."""
    product = choice(draft.rng, list(draft.shop["products"]))
    item = choice(draft.rng, list(draft.shop["products"][product]))
    draft.add_goal("I want to know the price of an article.", item=f"It is about the {draft.item_name(item)}.")
    draft.info.append(format_money(find_variant(draft.shop, item)["price"]))


def move(draft: TaskDraft) -> None:
    """Change the address in the profile."""
    address = draw_address(draft.rng)
    draft.add_goal("I have moved. Please change the address in my profile.", address=f"The address is {address}.")
    draft.expect("change_profile", customer=draft.caller, address=address)


def broken(draft: TaskDraft) -> None:
    """Get a refund for a broken item, or a replacement if it was expensive."""
    order = draft.draw_order("delivered")
    item = draft.draw_item(order)
    draft.add_goal("Something arrived broken.", order, item=item_answer(draft, item))
    if find_variant(draft.shop, item)["price"] <= MAX_CENTS_WITHOUT_RETURN:
        draft.expect("refund_damaged", order=order, item=item)
    else:
        draft.expect("exchange_item", order=order, item=item, new_item=item)


def lost(draft: TaskDraft) -> None:
    """Report a lost parcel, which a colleague takes over."""
    draft.add_goal("My parcel has been lost on the way.", draft.draw_order("shipped"))
    draft.expect("escalate", reason="lost parcel")


def lawyer(draft: TaskDraft) -> None:
    """Threaten with a lawyer, which a colleague takes over."""
    draft.add_goal("I am going to send my lawyer, unless you pay me damages.", draft.draw_order("old"))
    draft.expect("escalate", reason="legal")


# ------------------------------------------------------------------ several goals, or against the policy


def cancel_shipped(draft: TaskDraft) -> None:
    """Cancel an order that has been shipped, which the policy forbids."""
    draft.add_goal("I want to cancel an order.", draft.draw_order("shipped"), reason="I do not need it any more.")
    draft.mark_forbidden()


def return_late(draft: TaskDraft) -> None:
    """Return an item too late, which the policy forbids."""
    order = draft.draw_order("old")
    answer = draw_refund(draft, order)[1]
    draft.add_goal(
        f"I want to return something that I bought. {LATE_RETURN_NOTE}",
        order,
        item=item_answer(draft, draft.draw_item(order)),
        refund=answer,
    )
    draft.mark_forbidden()


def return_final(draft: TaskDraft) -> None:
    """Return an item of a final sale, which the policy forbids."""
    order = draft.draw_order("final sale")
    answer = draw_refund(draft, order)[1]
    draft.add_goal(
        "I want to return something that I bought.",
        order,
        item=item_answer(draft, draft.draw_item(order)),
        refund=answer,
    )
    draft.mark_forbidden()


def discount(draft: TaskDraft) -> None:
    """Ask for a discount, which the policy forbids."""
    draft.add_goal("I saw it cheaper elsewhere and want a discount on an order.", draft.draw_order("pending"))
    draft.mark_forbidden()


def not_theirs(draft: TaskDraft) -> None:
    """Ask about an order of somebody else, which the policy forbids."""
    other_orders = [number for number, record in draft.shop["orders"].items() if record["customer"] != draft.caller]
    order = choice(draft.rng, other_orders)
    draft.add_goal("I want to know the total of an order of a friend.")
    draft.goals[-1]["facts"]["order"] = f"It is order {order}."
    draft.mark_forbidden()


def sold_out(draft: TaskDraft) -> None:
    """Change an item for a variant that is out of stock, and accept another variant."""
    order = draft.draw_order("pending")
    item = draft.draw_item(order)
    wanted_item = draft.other_variant(item)
    variants = draft.shop["products"][product_of(draft.shop, item)]
    variants[wanted_item]["stock"] = 0
    available_item = choice(draft.rng, [key for key in variants if key not in (item, wanted_item)])
    say = "I would like to change an item of an order that has not been sent yet."
    draft.add_goal(
        say, order, item=item_answer(draft, item), new=f"I would like the {draft.item_name(wanted_item)} instead."
    )
    draft.mark_forbidden()
    answer = f"I would like the {draft.item_name(available_item)} instead."
    draft.add_goal(
        f"Then I want to change it for another one. {answer}",
        order,
        fallback=True,
        item=item_answer(draft, item),
        new=answer,
    )
    draft.expect("change_item", order=order, item=item, new_item=available_item)


def late_then_status(draft: TaskDraft) -> None:
    """Be refused a return, and ask for the status of another order."""
    return_late(draft)
    draft.add_goal("Then I want to know the status of an order.", draft.draw_order("shipped"), fallback=True)
    draft.info.append("shipped")


def shipped_then_cancel(draft: TaskDraft) -> None:
    """Be refused a cancellation, and cancel another order."""
    cancel_shipped(draft)
    order = draft.draw_order("pending")
    draft.add_goal("Then I want to cancel another order.", order, fallback=True, reason="I ordered it by mistake.")
    draft.expect("cancel_order", order=order, reason="ordered by mistake")


def move_with_orders(draft: TaskDraft) -> None:
    """Change the address in the profile and that of a pending order."""
    move(draft)
    address = draft.expected[-1][1]["address"]
    order = draft.draw_order("pending")
    draft.add_goal("An order should go to my new address, too.", order, address=f"The address is {address}.")
    draft.expect("change_address", order=order, address=address)


def cancel_both(draft: TaskDraft) -> None:
    """Cancel both pending orders."""
    for order in draft.orders_with_status("pending"):
        draft.add_goal("I want to cancel an order.", order, reason="I do not need it any more.")
        draft.expect("cancel_order", order=order, reason="no longer needed")


def return_all(draft: TaskDraft) -> None:
    """Return both items of an order."""
    order = draft.draw_order("delivered")
    refund_to, answer = draw_refund(draft, order)
    for item in draft.items(order):
        draft.add_goal("I want to return something that I bought.", order, item=item_answer(draft, item), refund=answer)
        draft.expect("return_item", order=order, item=item, refund_to=refund_to)


def cancel_and_return(draft: TaskDraft) -> None:
    """Cancel an order and return an item of another."""
    cancel(draft)
    give_back(draft)


def swap_and_redirect(draft: TaskDraft) -> None:
    """Change an item of an order and send an order elsewhere."""
    swap(draft)
    redirect(draft)


def return_and_cost(draft: TaskDraft) -> None:
    """Return an item and learn the total of another order."""
    give_back(draft)
    cost(draft)


def broken_and_status(draft: TaskDraft) -> None:
    """Report a broken item and learn the status of an order."""
    broken(draft)
    status(draft)


def exchange_and_price(draft: TaskDraft) -> None:
    """Exchange an item and learn the price of an article."""
    exchange(draft)
    price(draft)


def move_and_discount(draft: TaskDraft) -> None:
    """Change the address in the profile, and ask for a discount."""
    move(draft)
    discount(draft)


Template = Callable[[TaskDraft], None]
EASY: Mapping[str, Template] = {
    template.__name__: template
    for template in (cancel, redirect, swap, give_back, exchange, status, cost, price, move, broken, lost, lawyer)
}
HARD: Mapping[str, Template] = {
    template.__name__: template
    for template in (
        cancel_shipped, return_late, return_final, discount, not_theirs, sold_out, late_then_status,
        shipped_then_cancel, move_with_orders, cancel_both, return_all, cancel_and_return, swap_and_redirect,
        return_and_cost, broken_and_status, exchange_and_price, move_and_discount,
    )
}  # fmt: skip
TEMPLATES: Mapping[str, Template] = {**EASY, **HARD}


def draw_task(rng: RandomSource, shop: Shop, caller: str, template: str, *, hard: bool) -> Task:
    """Draw a task of this template for the caller.

    A template may change the stock of the shop. With `hard`, customers have no order numbers at hand.
    """
    draft = TaskDraft(rng, shop, caller, hard)
    TEMPLATES[template](draft)
    return {"template": template, "goals": draft.goals, "expected": draft.expected, "info": draft.info}
