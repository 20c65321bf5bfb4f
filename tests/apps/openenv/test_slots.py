"""Slots: who gets the next one."""

from __future__ import annotations

import asyncio

import pytest

from apps.openenv.slots import Full, Slots


async def test_slots_are_given_in_the_order_of_the_queue() -> None:
    slots = Slots(1)
    first = await slots.take("ada", 5, 1)
    order: list[str] = []

    async def wait(person: str) -> None:
        slot = await slots.take(person, 5, 30)
        order.append(person)
        slot.release()

    tasks = [asyncio.create_task(wait(person)) for person in ("bob", "eve", "ada")]
    while slots.waiting < 3:
        await asyncio.sleep(0)
    first.release()
    first.release()
    await asyncio.gather(*tasks)
    assert order == ["bob", "eve", "ada"]
    assert (slots.held, slots.waiting) == (0, 0)


async def test_who_has_as_many_as_allowed_lets_others_go_ahead() -> None:
    slots = Slots(3)
    own = [await slots.take("ada", 2, 1) for _ in range(2)]
    waiting = asyncio.create_task(slots.take("ada", 2, 30))
    other = await slots.take("bob", 2, 30)
    assert not waiting.done()
    own[0].release()
    (await waiting).release()
    other.release()
    own[1].release()
    assert (slots.held, slots.waiting) == (0, 0)


async def test_who_gives_up_waiting_holds_nothing() -> None:
    slots = Slots(1)
    slot = await slots.take("ada", 1, 1)
    with pytest.raises(Full):
        await slots.take("bob", 1, 0.01)
    waiting = asyncio.create_task(slots.take("eve", 1, 30))
    while not slots.waiting:
        await asyncio.sleep(0)
    slot.release()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (slots.held, slots.waiting) == (0, 0)
