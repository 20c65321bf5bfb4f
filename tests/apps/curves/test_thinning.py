"""Long curves are kept in a short form, which does not depend on the order in which entries came."""

from __future__ import annotations

import random

import pytest

from apps.accounts.models import User
from apps.curves import recording, thinning
from apps.curves.entries import Sent
from apps.curves.models import Curve, OutsideTraining
from apps.curves.reading import columns, values_of


def sent(steps: list[int]) -> list[Sent]:
    """Entries whose value is their step."""
    return [Sent({"loss": float(step), **({"rare": 1.0} if step % 500 == 0 else {})}, step) for step in steps]


def thinned(owner: User, steps: list[int], parts: int) -> OutsideTraining:
    """A training whose entries came in parts, each thinned before the next one."""
    training = recording.begin(owner, "long", f"{parts} parts of {steps[0]}")
    for part in range(parts):
        recording.record_all(training, sent(steps[part::parts]))
        thinning.thin(training.pk)
    training.refresh_from_db()
    return training


def curves_of(training: OutsideTraining) -> dict[str, tuple[list[int], list[float]]]:
    """What is kept, without times."""
    return {row.name: (row.steps, row.values) for row in Curve.objects.filter(training=training) if row.name}


def test_the_short_form_is_the_same_in_any_order_and_in_any_parts(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thinning, "AT_A_TIME", 700)
    monkeypatch.setattr(thinning, "PLACES", 100)
    steps = list(range(3_000))
    at_once = thinned(ada, steps, 1)
    random.Random(1).shuffle(steps)
    shuffled = thinned(ada, steps, 3)
    assert curves_of(at_once) == curves_of(shuffled)
    assert at_once.width == shuffled.width == 32
    found = columns(shuffled, ["loss", "rare"])
    assert found["m:loss"] == found["update"]
    assert len(found["update"]) == 94
    assert found["update"][-1] == 2_999
    assert sum(value is not None for value in found["m:rare"]) == 6


def test_whoever_follows_gets_every_entry_once_while_workers_thin(ada: User) -> None:
    training = recording.begin(ada, "long", "followed")
    last, seen = 0, []
    for part in range(4):
        recording.record_all(training, sent(list(range(100 * part, 100 * part + 100))))
        if part != 1:
            training.refresh_from_db()
            found = columns(training, ["loss"], last)
            assert found["whole"] == (part == 0)
            seen += found["update"]
            last = found["last"]
        if part == 2:
            thinning.thin(training.pk)
    training.refresh_from_db()
    assert seen == list(range(400))
    assert columns(training, ["loss"], 100)["whole"]
    assert values_of(training, "loss") == [float(step) for step in range(400)]
    assert columns(training, ["loss"], last)["update"] == []


@pytest.mark.parametrize(("first", "last", "width"), [(0, 999, 1), (0, 1000, 2), (-1000, 1000, 4), (5, 5, 1)])
def test_the_width_is_the_smallest_power_of_two_that_has_room(first: int, last: int, width: int) -> None:
    assert thinning.width_for(first, last) == width
