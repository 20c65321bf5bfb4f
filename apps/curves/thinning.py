"""The short form of long curves, which workers keep: some hundred places, each with its last step.

A place stands for `width` consecutive steps. Where the width doubles, two places become one. Since the later step, and
of equal steps the later entry, wins, the form does not depend on the order in which entries arrive.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from django.db import transaction
from django.db.models import F

from apps.curves.models import Curve, Entry, OutsideTraining
from apps.queue import enqueue

TASK = "curves.thin"
PLACES = 1_000
AT_A_TIME = 5_000
"""Entries of one reading."""
AT_ONCE = 20
"""Trainings for which the scheduler wakes workers at a time."""
STEPS = ""
"""The name of the curve that has all steps; its values are times, in seconds."""
Point = tuple[int, float]
Points = dict[int, Point]
"""The step and the value of each place."""


def thin(training_id: str) -> None:
    """Bring the short form of a training's curves up to date."""
    while _thin_some(training_id):
        pass


def wake_workers() -> None:
    """Send the messages again of trainings whose short form is far behind."""
    behind = OutsideTraining.objects.filter(entries__gt=F("thinned") + AT_A_TIME).order_by("heard")
    for training_id in behind.values_list("pk", flat=True)[:AT_ONCE]:
        enqueue(TASK, training_id)


def width_for(first_step: int, last_step: int, width: int = 1) -> int:
    """The smallest doubling of `width` with which these steps take at most `PLACES` places."""
    while last_step // width - first_step // width >= PLACES:
        width *= 2
    return width


def merge(points: Points, step: int, value: float, width: int) -> None:
    """Add a point, if it is not before the one that its place has."""
    place = step // width
    if place not in points or step >= points[place][0]:
        points[place] = (step, value)


def _thin_some(training_id: str) -> bool:
    """Take the next entries into the short form. Returns whether there were as many as are read at once."""
    training = OutsideTraining.objects.filter(pk=training_id).first()
    if training is None or training.last_step is None or training.thinned >= training.entries:
        return False
    following = Entry.objects.filter(training=training, number__gt=training.thinned).order_by("number")[:AT_A_TIME]
    entries = list(following.values_list("number", "step", "seconds", "data"))
    width = width_for(training.first_step, training.last_step, training.width)
    curves = _with(_read(training, width, {STEPS, *(name for *_, data in entries for name in data)}), entries, width)
    with transaction.atomic():
        row = OutsideTraining.objects.select_for_update(no_key=True).filter(pk=training_id).first()
        if row is None or row.thinned != training.thinned:  # it was deleted, or another worker was faster
            return row is not None
        _write(training, curves)
        OutsideTraining.objects.filter(pk=training_id).update(thinned=entries[-1][0], width=width)
    return len(entries) == AT_A_TIME


def _read(training: OutsideTraining, width: int, names: set[str]) -> dict[str, Points]:
    """The kept curves with these names, and all of them if their places become wider."""
    rows = Curve.objects.filter(training=training)
    if width == training.width:
        rows = rows.filter(name__in=names)
    curves: dict[str, Points] = {}
    for row in rows:
        points = curves.setdefault(row.name, {})
        for step, value in zip(row.steps, row.values, strict=True):
            merge(points, step, value, width)
    return curves


def _with(
    curves: Mapping[str, Points], entries: Iterable[tuple[int, int, float, dict[str, float]]], width: int
) -> dict[str, Points]:
    """Curves with further entries, in the order of their arrival."""
    found: dict[str, Points] = defaultdict(dict, curves)
    for _, step, seconds, data in entries:
        merge(found[STEPS], step, seconds, width)
        for name, value in data.items():
            merge(found[name], step, value, width)
    return found


def _write(training: OutsideTraining, curves: Mapping[str, Points]) -> None:
    rows = []
    for name, points in curves.items():
        in_order = [points[place] for place in sorted(points)]
        steps, values = [step for step, _ in in_order], [value for _, value in in_order]
        rows.append(Curve(training=training, name=name, steps=steps, values=values))
    Curve.objects.bulk_create(
        rows, update_conflicts=True, unique_fields=["training", "name"], update_fields=["steps", "values"]
    )
