"""Trainings beside each other: those that differ in nothing but their seed are one curve with a band."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from apps.jobs.models import Job
from apps.trainings import pages
from gem.credit import ALGORITHMS
from gem.evaluation.scores import Interval, student
from gem.training.spec import TrainingSpec, read_spec, with_current_names

TAIL = 0.1
"""The share of the updates, from the end, over which the final result is taken."""
COLOURS = {"reinforce": 7, "rebn": 4, "grpo": 5, "ppo": 6}
MOST_LOOKED_AT = 50
"""Other trainings that may be of the same settings, the newest."""
IGNORED = {"seed", "recipe", "threads", "checkpoint_seconds", "keep_checkpoints", "sample_every", "sample_episodes"}
"""Fields in which two trainings may differ and still be one arm."""


@dataclass(frozen=True, slots=True)
class Arm:
    """Trainings with the same settings and different seeds."""

    label: str
    colour: int
    jobs: Sequence[Job]
    final: Interval | None
    """Success over the last tenth of the updates, over the seeds."""
    area: Interval | None
    """Mean success over all updates: the area under the curve."""
    begun: int
    """Seeds that have made an update: those that the intervals are over."""
    updates: int
    """That all of its seeds have made."""
    turns: int

    @property
    def over(self) -> bool:
        """Whether all its seeds are done."""
        return all(job.state == Job.State.DONE for job in self.jobs)


def arms(jobs: Sequence[Job]) -> list[Arm]:
    """The trainings in arms, the best final result first."""
    grouped: dict[str, list[Job]] = {}
    for job in jobs:
        grouped.setdefault(json.dumps(_settings(job), sort_keys=True), []).append(job)
    specs = [read_spec(members[0].spec) for members in grouped.values()]
    found = [
        _arm(label, colour, members)
        for label, colour, members in zip(_labels(specs), _colours(specs), grouped.values(), strict=True)
    ]
    return sorted(found, key=lambda arm: -(arm.final.mean if arm.final else -1.0))


def same_but_for_the_seed(job: Job) -> list[Job]:
    """The trainings of the same owner that differ in nothing but their seed, one for each; this one comes first."""
    settings = _settings(job)
    asked = Job.objects.trainings().filter(
        owner=job.owner_id, parent=job.parent_id, parent_update=job.parent_update, spec__contains=settings
    )
    found = {job.spec["seed"]: job}
    for other in asked.exclude(pk=job.pk).order_by("-created")[:MOST_LOOKED_AT]:
        if _settings(other) == settings:  # `contains` also finds those with more arguments
            found.setdefault(other.spec["seed"], other)
    return list(found.values())


def verdict(found: Sequence[Arm]) -> str:
    """What may be said of the arms: an order only where the intervals do not meet."""
    if len(found) == 1:
        return _spread(found[0])
    known = [arm for arm in found if arm.final is not None]
    if len(known) < 2:
        return "There is nothing to compare yet."
    if not all(arm.over for arm in known):
        return "Not all trainings are done, so there is no conclusion yet."
    if min(len(arm.jobs) for arm in known) < 2:
        return "Some settings were trained with one seed only. One seed shows no spread, so no order can be concluded."
    best, *others = known
    assert best.final is not None
    beaten = [arm.label for arm in others if arm.final is not None and arm.final.high < best.final.low]
    if not beaten:
        return f"{best.label} has the highest mean, but its interval overlaps the others: the order may be chance."
    rest = "" if len(beaten) == len(others) else " Its interval overlaps those of the others."
    return f"{best.label} solved more than {_listed(beaten)} at the end: the intervals do not overlap.{rest}"


def _spread(arm: Arm) -> str:
    """What may be said of one arm alone: how far its seeds lie apart."""
    if len(arm.jobs) == 1:
        return "There is nothing to compare it with yet."
    if arm.final is None or not arm.over:
        return "These trainings differ only in their seed. Not all are done, so there is no conclusion yet."
    mean, low, high = (f"{100 * share:.1f} %" for share in (arm.final.mean, arm.final.low, arm.final.high))
    return (
        f"These trainings differ only in their seed. At the end they solve {mean} of their episodes, with a 95 % "
        f"interval of {low} to {high} over {len(arm.jobs)} seeds."
    )


def curves(found: Sequence[Arm], metric: str) -> list[dict[str, Any]]:
    """For the chart: each arm's updates, turns and seconds, the metric of each seed, and where more of it is had."""
    return [
        {"label": arm.label, "colour": arm.colour, "seeds": [_seed(job, metric) for job in arm.jobs]} for arm in found
    ]


def _seed(job: Job, metric: str) -> dict[str, Any]:
    columns = pages.curves(job)
    kept = {name: columns[name] for name in (*pages.AXES, metric, "last", "over")}
    return {**kept, "source": reverse("trainings:curves", args=[job.pk])}


def _arm(label: str, colour: int, jobs: list[Job]) -> Arm:
    success = [[point.data["success"] for point in job.points.order_by("update")] for job in jobs]
    made = [values for values in success if values]
    tails = [_mean(values[-max(1, round(TAIL * len(values))) :]) for values in made]
    return Arm(
        label=label,
        colour=colour,
        jobs=jobs,
        final=_interval(tails),
        area=_interval([_mean(values) for values in made]),
        begun=len(made),
        updates=min((len(values) for values in success), default=0),
        turns=sum(job.turns_done for job in jobs),
    )


def _interval(values: Sequence[float]) -> Interval | None:
    """Of a share, over seeds; a single seed has none and stands for itself."""
    if len(values) < 2:
        return Interval(values[0], values[0], values[0]) if values else None
    found = student(values)
    return Interval(found.mean, max(0.0, found.low), min(1.0, found.high))


def _settings(job: Job) -> dict[str, Any]:
    return {name: value for name, value in with_current_names(job.spec).items() if name not in IGNORED}


def _colours(specs: Sequence[TrainingSpec]) -> list[int]:
    """Each algorithm's own where they differ in it, as on every chart of algorithms; otherwise one after the other."""
    algorithms = [spec.algorithm for spec in specs]
    if len(set(algorithms)) == len(specs) > 1:
        return [COLOURS[algorithm] for algorithm in algorithms]
    return [place % 8 + 1 for place in range(len(specs))]


def _labels(specs: Sequence[TrainingSpec]) -> list[str]:
    """What each has that not all have."""
    plain = [spec.model_dump(mode="json") for spec in specs]
    differing = [
        name
        for name in plain[0]
        if name not in IGNORED and len({json.dumps(each[name], sort_keys=True) for each in plain}) > 1
    ]
    if not differing:
        return [f"{ALGORITHMS[spec.algorithm].title} on {spec.env_id}" for spec in specs]
    return [", ".join(_told(name, each[name]) for name in differing) for each in plain]


def _told(name: str, value: Any) -> str:
    if name == "algorithm":
        return str(ALGORITHMS[value].title)
    if name == "discount":
        return f"\u03b3 {value:g}"
    return str(value) if name == "env_id" else f"{name.replace('_', ' ')} {value}"


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
