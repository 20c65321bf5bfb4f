"""Reading studies for pages: those that come with gemweb, and those that people have started."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

from apps.studies.models import Study
from apps.studies.pages.shown import Shown
from apps.studies.planning import results_of
from gem.studies.report import Report, report
from gem.studies.results import FolderResults, ReadOnce
from gem.studies.study import Study as Plan
from gem.studies.study import all_studies

MOST = 100
"""Studies in a list."""
TAB_NAMES: Mapping[str, str] = {
    "gamma": "Discount",
    "gamma-fifty": "Discount, 1 to 50",
    "tools": "Using Python",
}
"""The tabs of studies whose own names do not say what they are about."""
_COMPUTING = Lock()
"""Held while a report is computed, which may take a second: many who watch wait for one computation."""
EXAMPLE: Mapping[str, Any] = {
    "title": "Two entropy bonuses",
    "question": "Does a larger entropy bonus solve more in a guessing game?",
    "seeds": 3,
    "environments": {"guess-easy": {"recipe": "guess-easy", "updates": 30}},
    "variants": {
        "small": {"title": "bonus 0.005", "settings": {"entropy_bonus": 0.005}},
        "large": {"title": "bonus 0.02", "settings": {"entropy_bonus": 0.02}},
    },
    "tuning": {"learning_rate": [0.0005, 0.001]},
}
"""A plan to begin with."""


@dataclass(frozen=True)
class Listed:
    """A study that comes with gemweb, with how much of it is done."""

    study: Plan
    done: int
    total: int
    cpu_hours: float

    @property
    def is_complete(self) -> bool:
        """Whether every run was made."""
        return self.done == self.total


def recorded_studies() -> list[Listed]:
    """Every study that comes with gemweb."""
    with _COMPUTING:
        return [_counted(plan.name, _state(plan)) for plan in all_studies()]


def recorded(name: str) -> Shown | None:
    """A study that comes with gemweb; None if there is none of this name."""
    plan = next((plan for plan in all_studies() if plan.name == name), None)
    if plan is None:
        return None
    with _COMPUTING:
        return Shown(_recorded(name, _state(plan)))


def of_study(study: Study) -> Shown:
    """A study that somebody has started, with what was made so far."""
    with _COMPUTING:
        return Shown(_started(study.pk, study.done))


def tabs(chosen: str = "") -> dict[str, Any]:
    """The tabs of all pages about studies, with names that are short enough for tabs."""
    names = [(plan.name, TAB_NAMES.get(plan.name, plan.name.replace("-", " ").capitalize())) for plan in all_studies()]
    return {"tabs": names, "tab": chosen}


def _state(plan: Plan) -> tuple[int, float]:
    """Changes whenever a result is added or replaced, as in a checkout where a study is running."""
    times = [path.stat().st_mtime for path in FolderResults(plan).folder.rglob("*.json")]
    return len(times), max(times, default=0.0)


@lru_cache(maxsize=32)
def _recorded(name: str, _state: tuple[int, float]) -> Report:
    return _computed(report(FolderResults(_plan(name))))


@lru_cache(maxsize=32)
def _counted(name: str, _state: tuple[int, float]) -> Listed:
    plan = _plan(name)
    results = ReadOnce(FolderResults(plan))
    return Listed(plan, results.done, results.total, results.cpu_seconds / 3600)


def _plan(name: str) -> Plan:
    return next(plan for plan in all_studies() if plan.name == name)


@lru_cache(maxsize=64)
def _started(study_id: str, _done: int) -> Report:
    study = Study.objects.get(pk=study_id)
    return _computed(report(results_of(study)))


def _computed(found: Report) -> Report:
    """A report with its intervals, which are computed once for each state of its results."""
    _ = found.differences, [row.profile for row in found.rows], found.matrix, found.turns_used
    return found
