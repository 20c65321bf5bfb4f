"""Calls of the tests map no memory, however deep they are."""

from __future__ import annotations

import resource

DEPTHS, CALLS = 150, 300


def call(depth: int) -> int:
    """How many pages are mapped while a function is called many times at this depth."""
    if depth:
        return call(depth - 1)
    before = pages()
    for _ in range(CALLS):
        nothing()
    return pages() - before


def pages() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def nothing() -> None:
    """Has a larger frame than `call`, so that at some depth there is room for the one and not for the other."""


nothing.__code__ = nothing.__code__.replace(co_stacksize=100)


def test_no_call_maps_memory_at_any_depth() -> None:
    mapped = {depth: call(depth) for depth in range(DEPTHS)}
    assert {depth: count for depth, count in mapped.items() if count >= CALLS} == {}
