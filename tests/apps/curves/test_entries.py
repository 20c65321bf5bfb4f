"""What is kept of an entry."""

from apps.curves.entries import LONG_NAMES, clean
from apps.curves.models import MAX_METRIC


def test_names_that_are_too_long_stay_different_and_are_noted() -> None:
    beginning = "layers/" * 30
    metrics = {f"{beginning}a": 1.0, f"{beginning}b": 2.0, "loss": 3.0}
    found = clean(metrics, step=1)
    assert sorted(found.numbers.values()) == [1.0, 2.0, 3.0]
    assert found.numbers["loss"] == 3.0
    assert {len(name) for name in found.numbers} == {4, MAX_METRIC}
    assert found.numbers == clean(metrics, step=2).numbers
    assert list(found.notes) == [LONG_NAMES]
    assert clean({"a" * MAX_METRIC: 1.0}, step=1).notes == {}
