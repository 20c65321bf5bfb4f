"""One training in a comparison, whether workers of this site run it or it runs elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from apps.curves import reading
from apps.curves.models import OutsideTraining
from apps.curves.names import name_for
from apps.jobs.models import Job
from apps.pictures import NO_BREAK
from apps.trainings.pages.training import AXES
from apps.trainings.pages.training import curves as curves_of


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric that comparisons draw."""

    title: str
    is_share: bool = False
    """Whether it lies between 0 and 1."""

    def in_words(self, value: float) -> str:
        """A value for a sentence."""
        return f"{100 * value:.1f}{NO_BREAK}%" if self.is_share else f"{value:.3g}"


METRICS = {
    "success": Metric("Share solved", is_share=True),
    "return": Metric("Return"),
    "held_out_success": Metric("Solved on held-out seeds", is_share=True),
    "exploitability": Metric("Exploitability"),
    "rating": Metric("Rating"),
    "level": Metric("Level"),
    "invalid": Metric("Invalid actions", is_share=True),
    "entropy": Metric("Entropy"),
    "turns_per_episode": Metric("Episode length"),
    "kl": Metric("KL"),
    "clip_fraction": Metric("Clip fraction", is_share=True),
    "gradient_norm": Metric("Gradient norm"),
    "learning_rate": Metric("Learning rate"),
}
"""What can be compared, by the names of our trainings."""


@dataclass(frozen=True, slots=True)
class Member:
    """A training with the values of one metric."""

    label: str
    """What tells it from the others of its arm, such as its seed."""
    address: str
    values: Sequence[float]
    turns: int
    is_done: bool
    """Whether nothing more is expected of it."""
    job: Job | None = None
    training: OutsideTraining | None = None
    """Set if it runs elsewhere."""
    metric: str = ""
    """What it calls the metric; empty if it has none."""

    def curve(self, metric: str) -> dict[str, Any]:
        """Its columns, and the address of further points."""
        if self.job is not None:
            columns = curves_of(self.job)
            curve = {name: columns[name] for name in (*AXES, metric, "last", "over")}
            return {**curve, "source": reverse("trainings:curves", args=[self.job.pk])}
        assert self.training is not None
        columns = reading.columns(self.training, [self.metric] if self.metric else [])
        curve = {name: columns[name] for name in (*AXES, "last", "over")}
        query = urlencode({"metric": self.metric, "as": metric})
        curve[metric] = columns[f"{reading.OF_METRIC}{self.metric}"] if self.metric else []
        return {**curve, "source": f"{reverse('curves:points', args=[self.training.pk])}?{query}"}


def own(job: Job, metric: str) -> Member:
    """A training of this site."""
    values = job.points.order_by("update").values_list(f"data__{metric}", flat=True)
    return Member(
        label=f"seed {job.spec['seed']}",
        address=job.get_absolute_url(),
        values=[float(value) for value in values if value is not None],
        turns=job.turns_done,
        is_done=job.state == Job.State.DONE,
        job=job,
        metric=metric,
    )


def sent(training: OutsideTraining, metric: str) -> Member:
    """A training elsewhere. Of a long one, the thinned curve counts."""
    name = name_for(training, metric)
    return Member(
        label=training.name,
        address=training.get_absolute_url(),
        values=reading.values_of(training, name) if name else [],
        turns=0,
        is_done=training.state == OutsideTraining.State.FINISHED or training.is_quiet,
        training=training,
        metric=name,
    )
