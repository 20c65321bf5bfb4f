"""How good the credit of each algorithm is during a training, compared with exact values: what was measured.

`gem.studies.judging` measures it. What is compared is the credit of a batch: how an algorithm would do with more of
them is another question, which `gem.studies.study` answers.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict

from gem.credit import Algorithm
from gem.studies.results import FOLDER as RESULTS
from gem.training.run_folder import write_atomically
from gem.validation.whole import Whole

FOLDER = RESULTS / "credit"
FEWEST_TURNS = 8
LOWEST_CEILING = 0.5
"""Below it, more of what forks measure is error than truth (a reliability of a quarter), and no mean counts it."""


class AlgorithmCredit(BaseModel):
    """How the credit of one algorithm is related to the truth, over the forked turns of a batch."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    correlation: float | None
    """Pearson's; None if the credit or the truth does not vary."""
    bias: float
    """Mean credit minus mean truth, each in its own standard deviations."""


class CreditPoint(BaseModel):
    """What was measured after one update."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    update: int
    success: float
    """Of the batch that was judged."""
    mean_return: float
    turns: int
    """Number of turns whose true advantage is known."""
    ceiling: float
    """The correlation that perfect credit would have: forks measure the truth with an error of their own."""
    stage: int = 0
    """Of the curriculum."""
    error: float = 0.0
    """Of an exact truth, the largest error that a turn may have because rare branches were not followed."""
    algorithms: dict[Algorithm, AlgorithmCredit]

    @property
    def has_signal(self) -> bool:
        """Whether forks can tell which turns were worth more. Where everything is solved, hardly any is."""
        return self.ceiling >= LOWEST_CEILING


class CreditStudy(BaseModel):
    """The credit of all algorithms over one training."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    recipe: str
    env_id: str
    discount: float
    seed: Whole
    truth: Literal["forks", "exact"] = "forks"
    """Whether the true advantages were measured by forking, or computed from the policy's probabilities."""
    points: list[CreditPoint]

    def mean_correlation(self, algorithm: Algorithm) -> float | None:
        """The mean over the points at which turns differ in what they are worth; None without any."""
        values = [point.algorithms[algorithm].correlation for point in self.points if point.has_signal]
        known = [value for value in values if value is not None]
        return statistics.fmean(known) if known else None


class Judged(NamedTuple):
    """A turn whose true advantage was measured."""

    truth: float
    error: float
    """Standard error of the truth; 0 if it is exact."""
    credit: Mapping[Algorithm, float]


def read(recipe: str, folder: Path = FOLDER) -> list[CreditStudy]:
    """What was measured of a recipe, by seed."""
    paths = sorted((folder / recipe).glob("*.json"))
    return [CreditStudy.model_validate_json(path.read_bytes()) for path in paths]


def recorded(folder: Path = FOLDER) -> list[str]:
    """The recipes whose credit was measured."""
    return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []


def write(study: CreditStudy, folder: Path = FOLDER) -> Path:
    """Keep the result, and return the path of its file."""
    path = folder / study.recipe / f"{study.seed}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, study.model_dump_json(indent=1) + "\n")
    return path


def compare(judged: Sequence[Judged], algorithm: Algorithm) -> AlgorithmCredit:
    """Compare the credit of an algorithm with the truth, over turns."""
    truths = [one.truth for one in judged]
    numbers = [one.credit[algorithm] for one in judged]
    correlation = None
    if len(judged) >= FEWEST_TURNS and _varies(truths) and _varies(numbers):
        correlation = round(statistics.correlation(truths, numbers), 4)
    return AlgorithmCredit(correlation=correlation, bias=round(_standardized(numbers) - _standardized(truths), 4))


def ceiling(judged: Sequence[Judged]) -> float:
    """The correlation that perfect credit would have with truths that are measured with errors.

    It is the square root of their reliability: the variance without that of the errors, as a share of all of it.

    Source: C. Spearman, The proof and measurement of association between two things, 1904.
    """
    truths = [one.truth for one in judged]
    if len(truths) < FEWEST_TURNS or not _varies(truths):
        return 0.0
    whole = statistics.pvariance(truths)
    noise = math.fsum(one.error**2 for one in judged) / len(judged)
    return round(math.sqrt(max(0.0, whole - noise) / whole), 4)


def _standardized(values: Sequence[float]) -> float:
    """The mean in standard deviations; 0 if nothing varies."""
    return statistics.fmean(values) / statistics.pstdev(values) if len(values) > 1 and _varies(values) else 0.0


def _varies(values: Sequence[float]) -> bool:
    return max(values) - min(values) > 1e-9
