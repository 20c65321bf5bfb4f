"""Comparisons of trainings, ours and those that run elsewhere. Those that differ only in their seed are one curve.

Of trainings with the same settings and the same seed, one counts: on the same machine they are the same training, so
their results agree without saying anything of other seeds.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from apps.curves.models import OutsideTraining
from apps.jobs.models import Job, JobQuerySet
from apps.trainings.pages.members import METRICS, Member, own, sent
from gem.credit import ALGORITHMS, are_equal
from gem.evaluation.scores import Interval, student_t_interval
from gem.studies.statistics import mean_difference, seeds_needed
from gem.training.spec import TrainingSpec, read_stored, with_current_names

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
    members: Sequence[Member]
    final: Interval | None
    """The metric over the last tenth of the updates, with its interval over seeds."""
    area: Interval | None
    """The mean of the metric over all updates: of the share solved, the area under the curve."""
    seeds: int
    """The number of different seeds; of trainings elsewhere, whose seeds are not known, each has its own."""
    begun: int
    """The number of seeds with an update. The intervals are over these seeds."""
    updates: int
    """The number of updates that all of its seeds have finished."""
    turns: int
    finals: tuple[float, ...] = ()
    """The metric of each seed over the last tenth of its updates."""

    @property
    def over(self) -> bool:
        """Whether all its seeds are done."""
        return all(member.is_done for member in self.members)

    @property
    def names(self) -> list[str]:
        """What trainings elsewhere call the metric."""
        return list(dict.fromkeys(member.metric for member in self.members if member.training and member.metric))


def arms(jobs: Sequence[Job], outside: Sequence[OutsideTraining] = (), metric: str = "success") -> list[Arm]:
    """The trainings grouped by their settings, the one that ends highest first.

    A fork is grouped with forks from the same update of trainings with the same settings.
    """
    jobs_by_settings: dict[str, list[Job]] = {}
    for job in jobs:
        begun_from = [job.parent_update, _settings(job.parent) if job.parent is not None else None]
        key = json.dumps([_settings(job), begun_from], sort_keys=True)
        jobs_by_settings.setdefault(key, []).append(job)
    groups = list(jobs_by_settings.values())
    specs = [read_stored(members[0].spec) for members in groups]
    labels = [
        f"{label}, from update {members[0].parent_update:,}" if members[0].parent_update else label
        for label, members in zip(_labels(specs), groups, strict=True)
    ]
    found = [
        _arm(label, colour, [own(job, metric) for job in members], metric)
        for label, colour, members in zip(labels, _colours(specs), groups, strict=True)
    ]
    used = {arm.colour for arm in found}
    for label, trainings in _groups_elsewhere(outside):
        free = [colour for colour in range(1, 9) if colour not in used] or [len(found) % 8 + 1]
        found.append(_arm(label, free[0], [sent(training, metric) for training in trainings], metric))
        used.add(free[0])
    return sorted(found, key=lambda arm: -(arm.final.mean if arm.final else -math.inf))


def _groups_elsewhere(outside: Sequence[OutsideTraining]) -> list[tuple[str, list[OutsideTraining]]]:
    """Trainings elsewhere by their settings without seeds, each with a label; one without settings stands alone."""
    groups: dict[str, list[OutsideTraining]] = {}
    for training in sorted(outside, key=lambda each: each.name):
        settings = {name: value for name, value in training.config.items() if not _is_of_one_run(name)}
        is_alone = not training.group and not settings
        key = [training.owner_id, training.project, training.group, settings, training.pk if is_alone else ""]
        groups.setdefault(json.dumps(key, sort_keys=True), []).append(training)
    return [
        (members[0].name if len(members) == 1 else members[0].group or f"{members[0].name} and others", members)
        for members in groups.values()
    ]


def _is_of_one_run(setting: str) -> bool:
    """Whether a setting differs between runs of the same settings."""
    return setting.startswith("_") or "seed" in setting or setting in {"run_name", "name", "output_dir", "logging_dir"}


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


def verdict(arms: Sequence[Arm], metric: str = "success") -> str:
    """The conclusion about the arms in a sentence.

    An order is stated as studies state it: of enough seeds (`gem.studies.statistics.seeds_needed`), where the interval
    of the difference leaves out zero. The intervals of all pairs hold together with 95 %.
    """
    if len(arms) == 1:
        return _spread(arms[0], metric)
    measured = [arm for arm in arms if arm.final is not None]
    if len(measured) < 2:
        return "There is nothing to compare yet."
    if not all(arm.over for arm in measured):
        return "Not all trainings are done, so there is no conclusion yet."
    fewest, pairs = min(len(arm.finals) for arm in measured), math.comb(len(measured), 2)
    if fewest < 2:
        return "Some settings were trained with one seed only. One seed shows no spread, so no order can be concluded."
    if fewest < (needed := seeds_needed(pairs)):
        return (
            f"To compare {len(measured)} settings, it takes {needed} seeds of each: with fewer, trainings that either "
            "succeed or fail would too often seem to have an order by chance."
        )
    best, *others = measured
    worse = [arm.label for arm in others if mean_difference([best.finals], [arm.finals], pairs).low > 0]
    if not worse:
        zero = "interval of the difference includes" if len(others) == 1 else "intervals of the differences include"
        return f"{best.label} has the highest mean, but the order may be chance: the 95 % {zero} zero."
    rest = "" if len(worse) == len(others) else " Its differences from the others may be chance."
    did = "solved more" if metric == "success" else f"had a higher value of “{METRICS[metric].title}”"
    zero = "interval of the difference leaves" if len(worse) == 1 else "intervals of the differences leave"
    return f"{best.label} {did} than {_join(worse)} at the end: the 95 % {zero} out zero.{rest}"


def _spread(arm: Arm, metric: str) -> str:
    """The conclusion about a single arm: the spread of its seeds."""
    if len(arm.members) == 1:
        return "There is nothing to compare it with yet."
    if arm.seeds == 1:
        return "These trainings have the same settings and the same seed, so they are one. Train with other seeds."
    if arm.final is None or not arm.over:
        return "These trainings differ only in their seed. Not all are done, so there is no conclusion yet."
    if arm.begun == 1:
        return "Only one of these seeds has values of this metric. One seed shows no spread."
    kind = METRICS[metric]
    mean, low, high = (kind.in_words(value) for value in (arm.final.mean, arm.final.low, arm.final.high))
    what = f"they solve {mean} of their episodes" if metric == "success" else f"“{kind.title}” is {mean}"
    if arm.final.low == arm.final.high:
        return (
            f"These trainings differ only in their seed. At the end {what} with each of {arm.begun} seeds. Equal "
            "results say nothing of their spread, so there is no interval."
        )
    return (
        f"These trainings differ only in their seed. At the end {what}, with a 95 % interval of {low} to {high} over "
        f"{arm.begun} seeds."
    )


def scale(arms: Sequence[Arm], metric: str) -> tuple[float, float]:
    """The ends of the scale on which intervals are drawn: of a share 0 and 1, else the lowest and the highest."""
    if METRICS[metric].is_share:
        return (0.0, 1.0)
    finals = [arm.final for arm in arms if arm.final is not None]
    return (min((final.low for final in finals), default=0.0), max((final.high for final in finals), default=1.0))


def curves(arms: Sequence[Arm], metric: str) -> list[dict[str, Any]]:
    """Chart data by arm and seed: updates, turns, seconds, the metric, and the address of further points."""
    return [
        {"label": arm.label, "colour": arm.colour, "seeds": [member.curve(metric) for member in arm.members]}
        for arm in arms
    ]


def _arm(label: str, colour: int, members: list[Member], metric: str) -> Arm:
    counted = _one_of_each_seed(members)
    curves = [member.values for member in counted if member.values]
    tails = [_mean(values[-max(1, round(TAIL * len(values))) :]) for values in curves]
    is_share = METRICS[metric].is_share
    return Arm(
        label=label,
        colour=colour,
        members=members,
        final=_interval(tails, is_share=is_share),
        area=_interval([_mean(values) for values in curves], is_share=is_share),
        seeds=len(counted),
        begun=len(curves),
        updates=min((len(member.values) for member in counted), default=0),
        turns=sum(member.turns for member in members),
        finals=tuple(tails),
    )


def _one_of_each_seed(members: Sequence[Member]) -> list[Member]:
    """Of the trainings of each seed the one that has come farthest; of equals the first."""
    farthest: dict[str, Member] = {}
    for member in members:
        seed = member.address if member.job is None else str(member.job.spec["seed"])
        if seed not in farthest or len(member.values) > len(farthest[seed].values):
            farthest[seed] = member
    return list(farthest.values())


def _interval(values: Sequence[float], *, is_share: bool) -> Interval | None:
    """The 95 % interval over seeds; of a share, within 0 and 1. A single seed has one of width 0, and so have equal
    values: they say nothing of their spread."""
    if not values:
        return None
    if are_equal(values):
        return Interval(values[0], values[0], values[0])
    interval = student_t_interval(values)
    if not is_share:
        return interval
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
    if not specs:
        return []
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
