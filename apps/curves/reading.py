"""What pages and programs read of a training elsewhere: the points of its curves, and its transcripts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apps.curves.models import Curve, Entry, OutsideTraining, Transcript
from apps.curves.names import in_order
from apps.curves.thinning import STEPS

MAX_POINTS = 2_000
"""Points of a curve in one answer. Of more, only every second, third, ... is sent."""
TAIL = 10_000
"""Entries that one answer reads; whoever asks goes on after the last one."""
SHOWN = 12
"""Curves that a page draws without being asked for others."""
MOST_NAMES = 60
OF_METRIC = "m:"
"""The beginning of the columns of metrics, so that none has the name of another column."""


def shown_names(training: OutsideTraining, asked: Sequence[str] = ()) -> list[str]:
    """The metrics to draw: those that were asked for and exist, else the first ones."""
    return named(training, asked) or in_order(training.latest)[:SHOWN]


def named(training: OutsideTraining, asked: Sequence[str]) -> list[str]:
    """Those of the metrics with these names that have arrived."""
    wanted = set(asked)
    return [name for name in in_order(training.latest) if name in wanted][:MOST_NAMES]


def columns(training: OutsideTraining, names: Sequence[str], after: int = 0) -> dict[str, Any]:
    """The points that arrived after an entry, as columns of equal length, ordered by step.

    `last` is the entry to go on from. If `whole` is true, the columns replace all that was read before.
    """
    whole = after < training.thinned or after == 0
    rows: dict[int, tuple[float, dict[str, float]]] = _thinned(training, names) if whole else {}
    first = max(after, training.thinned) if whole else after
    entries = Entry.objects.filter(training=training, number__gt=first, number__lte=training.entries)
    last = first
    for number, step, seconds, data in entries.order_by("number").values_list("number", "step", "seconds", "data")[
        :TAIL
    ]:
        last = number
        values = rows[step][1] if step in rows else {}
        rows[step] = (seconds, values | {name: data[name] for name in names if name in data})
    steps = _every_few(sorted(rows))
    return {
        "last": last,
        "over": training.over,
        "whole": whole,
        "update": steps,
        "seconds": [rows[step][0] for step in steps],
        "turns": [],
        **{f"{OF_METRIC}{name}": [rows[step][1].get(name) for step in steps] for name in names},
    }


def values_of(training: OutsideTraining, name: str) -> list[float]:
    """The values of a metric in the order of their steps."""
    found = columns(training, [name])[f"{OF_METRIC}{name}"]
    return [value for value in found if value is not None]


def transcripts_near(training: OutsideTraining, step: int, most: int) -> tuple[int | None, list[Transcript]]:
    """The transcripts of the step nearest to this one, and that step; None if there are none."""
    of_training = Transcript.objects.filter(training=training)
    before = of_training.filter(step__lte=step).order_by("-step").values_list("step", flat=True).first()
    after = of_training.filter(step__gt=step).order_by("step").values_list("step", flat=True).first()
    steps = [found for found in (before, after) if found is not None]
    if not steps:
        return None, []
    nearest = min(steps, key=lambda found: abs(found - step))
    return nearest, list(of_training.filter(step=nearest).order_by("pk")[:most])


def _thinned(training: OutsideTraining, names: Sequence[str]) -> dict[int, tuple[float, dict[str, float]]]:
    """The kept points by the last step of their places: seconds, and the values of each metric there."""
    curves = {row.name: row for row in Curve.objects.filter(training=training, name__in=[STEPS, *names])}
    if STEPS not in curves:
        return {}
    times = curves.pop(STEPS)
    last_steps = {step // training.width: step for step in times.steps}
    rows: dict[int, tuple[float, dict[str, float]]] = {
        step: (seconds, {}) for step, seconds in zip(times.steps, times.values, strict=True)
    }
    for name, curve in curves.items():
        for step, value in zip(curve.steps, curve.values, strict=True):
            rows[last_steps[step // training.width]][1][name] = value
    return rows


def _every_few(steps: list[int]) -> list[int]:
    stride = len(steps) // MAX_POINTS + 1
    return [step for place, step in enumerate(steps) if place % stride == 0 or place == len(steps) - 1]
