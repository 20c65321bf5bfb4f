"""What is missing from the results of an evaluation, and between which bounds they would be with all of it.

Results are *partial* while fewer episodes count than were planned: because the job runs or was stopped, or because
episodes ended without a result. Nothing is guessed about the others. If all of them were lost, or all were won, the
share of solved episodes would be at the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import NamedTuple

from apps.jobs.models import Job, JobEvent
from apps.jobs.results.grid import EnvironmentResults
from apps.jobs.results.tallies import Tally
from gem import registry
from gem.errors import GemError


class Bounds(NamedTuple):
    """The least and the most that a result can be."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Missing:
    """The episodes that are missing from the results of a job, or of one of its environments."""

    planned: int
    counted: int
    unplayed: int
    """Those that were not played to their end, or not yet."""
    broken: int
    """Those that ended by an environment error."""
    unanswered: int
    """Those in which the agent gave no answer."""
    solved: Bounds
    """Of the share of solved episodes."""
    mean_return: Bounds | None = None
    """Of the mean return; None if an environment with missing episodes declares no bounds of its returns."""
    cut_off: int = 0
    """Of the `unplayed`: those that were being played when the job was stopped."""
    unplayed_env_ids: tuple[str, ...] = ()
    """The environments of which no episode counts."""

    @property
    def episodes(self) -> int:
        """The number of all missing episodes."""
        return self.planned - self.counted

    @property
    def at_most(self) -> float:
        """How far the share of solved episodes may move at most."""
        return self.solved.high - self.solved.low


def missing_from(tally: Tally) -> Missing | None:
    """What is missing from these sums, without bounds of the return; None if nothing is."""
    if not tally.is_partial:
        return None
    solved = Bounds(tally.won / tally.needed, (tally.won + tally.missing) / tally.needed)
    return Missing(tally.needed, tally.n, tally.needed - tally.done, tally.broken, tally.unanswered, solved)


def missing_from_job(job: Job, tally: Tally, lines: Sequence[EnvironmentResults]) -> Missing | None:
    """What is missing from the results of a job; None if nothing is."""
    found = missing_from(tally)
    if found is None:
        return None
    return Missing(
        planned=found.planned,
        counted=found.counted,
        unplayed=found.unplayed,
        broken=found.broken,
        unanswered=found.unanswered,
        solved=bounds_of_solved(lines),
        mean_return=bounds_of_mean_return(lines),
        cut_off=cut_off(job) if job.over and found.unplayed else 0,
        unplayed_env_ids=tuple(line.env_id for line in lines if not line.tally.n),
    )


def bounds_of_solved(lines: Sequence[EnvironmentResults]) -> Bounds:
    """The share of solved episodes if all missing ones were lost or won: as in the result, environments weigh equally.

    There is at least one environment.
    """
    tallies = [line.tally for line in lines if line.tally.needed]
    lowest = [tally.won / tally.needed for tally in tallies]
    highest = [(tally.won + tally.missing) / tally.needed for tally in tallies]
    return Bounds(fmean(lowest), fmean(highest))


def bounds_of_mean_return(lines: Sequence[EnvironmentResults]) -> Bounds | None:
    """The mean return if all missing episodes had the lowest or the highest possible one; None if that is not known."""
    found = []
    for line in lines:
        tally = line.tally
        bounds = return_bounds(line.env_id) if tally.missing else Bounds(0.0, 0.0)
        if bounds is None:
            return None
        if tally.needed:
            found.append([(tally.returns + end * tally.missing) / tally.needed for end in bounds])
    return Bounds(*(fmean(ends) for ends in zip(*found, strict=True))) if found else None


def return_bounds(env_id: str) -> Bounds | None:
    """The lowest and the highest return that an environment declares; None if it declares none."""
    try:
        declared = getattr(registry.spec(env_id).load(), "return_bounds", None)
    except (GemError, ImportError):  # it is not registered any more, or needs a package that is not here
        return None
    return Bounds(*declared) if declared else None


def cut_off(job: Job) -> int:
    """How many episodes were being played when a job was stopped; 0 if it is not known."""
    event = job.events.filter(kind=JobEvent.Kind.ENDED).order_by("-seq").first()
    return int(event.data.get("cut_off", 0)) if event is not None else 0
