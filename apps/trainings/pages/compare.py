"""Comparisons of trainings. Trainings that differ only in their seed are one curve with a band."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse

from apps.jobs.models import Job, JobQuerySet
from apps.trainings import pages
from gem.credit import ALGORITHMS
from gem.evaluation.scores import Interval, student_t_interval
from gem.training.spec import TrainingSpec, read_spec, with_current_names

TAIL = 0.1
"""The final result is the mean over this share of the updates, counted from the end."""
COLOURS = {"reinforce": 7, "rebn": 4, "grpo": 5, "ppo": 6}
MAX_CANDIDATES = 50
"""The newest trainings that are compared when looking for the same settings."""
IGNORED = {"seed", "recipe", "threads", "checkpoint_seconds", "keep_checkpoints", "sample_every", "sample_episodes"}
"""Fields in which the trainings of one arm may differ."""


@dataclass(frozen=True, slots=True)
class Arm:
    """Trainings with the same settings and different seeds."""

    label: str
    colour: int
    jobs: Sequence[Job]
    final: Interval | None
    """The share solved over the last tenth of the updates, with its interval over seeds."""
    area: Interval | None
    """The mean share solved over all updates, which is the area under the curve."""
    begun: int
    """The number of seeds with an update. The intervals are over these seeds."""
    updates: int
    """The number of updates that all of its seeds have finished."""
    turns: int

    @property
    def over(self) -> bool:
        """Whether all its seeds are done."""
        return all(job.state == Job.State.DONE for job in self.jobs)


def arms(jobs: Sequence[Job]) -> list[Arm]:
    """The trainings grouped by their settings, the best final result first."""
    jobs_by_settings: dict[str, list[Job]] = {}
    for job in jobs:
        jobs_by_settings.setdefault(json.dumps(_settings(job), sort_keys=True), []).append(job)
    specs = [read_spec(members[0].spec) for members in jobs_by_settings.values()]
    arms = [
        _arm(label, colour, members)
        for label, colour, members in zip(_labels(specs), _colours(specs), jobs_by_settings.values(), strict=True)
    ]
    return sorted(arms, key=lambda arm: -(arm.final.mean if arm.final else -1.0))


def trainings_with_same_settings(job: Job, known: JobQuerySet) -> list[Job]:
    """Trainings among `known` of the same owner that differ only in their seed, one for each seed.

    The first is `job` itself.
    """
    settings = _settings(job)
    candidates = known.trainings().filter(
        owner=job.owner_id, parent=job.parent_id, parent_update=job.parent_update, spec__contains=settings
    )
    by_seed = {job.spec["seed"]: job}
    for other in candidates.exclude(pk=job.pk).order_by("-created")[:MAX_CANDIDATES]:
        if _settings(other) == settings:  # `contains` also finds those with more arguments
            by_seed.setdefault(other.spec["seed"], other)
    return list(by_seed.values())


def verdict(arms: Sequence[Arm]) -> str:
    """The conclusion about the arms in a sentence. It states an order only if intervals do not overlap."""
    if len(arms) == 1:
        return _spread(arms[0])
    measured = [arm for arm in arms if arm.final is not None]
    if len(measured) < 2:
        return "There is nothing to compare yet."
    if not all(arm.over for arm in measured):
        return "Not all trainings are done, so there is no conclusion yet."
    if min(len(arm.jobs) for arm in measured) < 2:
        return "Some settings were trained with one seed only. One seed shows no spread, so no order can be concluded."
    best, *others = measured
    assert best.final is not None
    worse = [arm.label for arm in others if arm.final is not None and arm.final.high < best.final.low]
    if not worse:
        return f"{best.label} has the highest mean, but its interval overlaps the others: the order may be chance."
    rest = "" if len(worse) == len(others) else " Its interval overlaps those of the others."
    return f"{best.label} solved more than {_join(worse)} at the end: the intervals do not overlap.{rest}"


def _spread(arm: Arm) -> str:
    """The conclusion about a single arm: the spread of its seeds."""
    if len(arm.jobs) == 1:
        return "There is nothing to compare it with yet."
    if arm.final is None or not arm.over:
        return "These trainings differ only in their seed. Not all are done, so there is no conclusion yet."
    mean, low, high = (f"{100 * share:.1f} %" for share in (arm.final.mean, arm.final.low, arm.final.high))
    return (
        f"These trainings differ only in their seed. At the end they solve {mean} of their episodes, with a 95 % "
        f"interval of {low} to {high} over {len(arm.jobs)} seeds."
    )


def curves(arms: Sequence[Arm], metric: str) -> list[dict[str, Any]]:
    """Chart data by arm and seed: updates, turns, seconds, the metric, and the address of further points."""
    return [
        {"label": arm.label, "colour": arm.colour, "seeds": [_seed(job, metric) for job in arm.jobs]} for arm in arms
    ]


def _seed(job: Job, metric: str) -> dict[str, Any]:
    columns = pages.curves(job)
    curve = {name: columns[name] for name in (*pages.AXES, metric, "last", "over")}
    return {**curve, "source": reverse("trainings:curves", args=[job.pk])}


def _arm(label: str, colour: int, jobs: list[Job]) -> Arm:
    success_by_job = [[point.data["success"] for point in job.points.order_by("update")] for job in jobs]
    curves = [values for values in success_by_job if values]
    tails = [_mean(values[-max(1, round(TAIL * len(values))) :]) for values in curves]
    return Arm(
        label=label,
        colour=colour,
        jobs=jobs,
        final=_interval(tails),
        area=_interval([_mean(values) for values in curves]),
        begun=len(curves),
        updates=min((len(values) for values in success_by_job), default=0),
        turns=sum(job.turns_done for job in jobs),
    )


def _interval(values: Sequence[float]) -> Interval | None:
    """The 95 % interval of a share over seeds. A single seed has an interval of width 0."""
    if len(values) < 2:
        return Interval(values[0], values[0], values[0]) if values else None
    interval = student_t_interval(values)
    return Interval(interval.mean, max(0.0, interval.low), min(1.0, interval.high))


def _settings(job: Job) -> dict[str, Any]:
    return {name: value for name, value in with_current_names(job.spec).items() if name not in IGNORED}


def _colours(specs: Sequence[TrainingSpec]) -> list[int]:
    """The colours of the algorithms if every arm has another one, otherwise consecutive colours."""
    algorithms = [spec.algorithm for spec in specs]
    if len(set(algorithms)) == len(specs) > 1:
        return [COLOURS[algorithm] for algorithm in algorithms]
    return [place % 8 + 1 for place in range(len(specs))]


def _labels(specs: Sequence[TrainingSpec]) -> list[str]:
    """A label for each specification, from the settings in which they differ."""
    settings = [spec.model_dump(mode="json") for spec in specs]
    differing_names = [
        name
        for name in settings[0]
        if name not in IGNORED and len({json.dumps(setting[name], sort_keys=True) for setting in settings}) > 1
    ]
    if not differing_names:
        return [f"{ALGORITHMS[spec.algorithm].title} on {spec.env_id}" for spec in specs]
    return [", ".join(_describe_setting(name, setting[name]) for name in differing_names) for setting in settings]


def _describe_setting(name: str, value: Any) -> str:
    if name == "algorithm":
        return str(ALGORITHMS[value].title)
    if name == "discount":
        return f"\u03b3 {value:g}"
    return str(value) if name == "env_id" else f"{name.replace('_', ' ')} {value}"


def _join(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)
