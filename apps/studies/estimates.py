"""How many CPU hours a study takes, from what equal and similar trainings have taken."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from apps.studies.planning import recorded_results
from gem.studies.results import FolderResults
from gem.studies.study import Run, compared, trials, untrained
from gem.studies.study import Study as Plan
from gem.training import recipes
from gem.training.spec import TrainingSpec


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a study takes."""

    runs: int
    """All of them."""
    there: int
    """Those whose result comes with gemweb, and which are not made again."""
    cpu_seconds: float
    """Of those that are to be made and of which something is known."""
    unknown: tuple[str, ...] = ()
    """The environments of which nothing is known."""

    @property
    def to_make(self) -> int:
        """How many runs are made."""
        return self.runs - self.there

    @property
    def cpu_hours(self) -> float:
        """The same in hours."""
        return self.cpu_seconds / 3600


@dataclass(slots=True)
class _Known:
    """CPU seconds of trainings that were made, by environment and variant, and by environment."""

    by_place: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    by_environment: dict[str, list[float]] = field(default_factory=dict)

    def add(self, run: Run, seconds: float) -> None:
        self.by_place.setdefault((run.environment, run.variant), []).append(seconds)
        self.by_environment.setdefault(run.environment, []).append(seconds)

    def of(self, run: Run) -> float | None:
        found = self.by_place.get((run.environment, run.variant)) or self.by_environment.get(run.environment)
        return statistics.fmean(found) if found else None


def estimate(plan: Plan, *, reuses_results: bool = True) -> Estimate:
    """Estimate a study before it starts."""
    recorded = recorded_results(plan)
    known, there = _look(plan, recorded if reuses_results else None)
    seconds, unknown = 0.0, set()
    by_recipe: dict[tuple[str, str], float | None] = {}
    for run in _runs(plan):
        if run in there or run.is_untrained:
            continue
        place = (run.environment, run.variant)
        expected = known.of(run)
        if expected is None:
            if place not in by_recipe:
                by_recipe[place] = of_recipe(plan, *place)
            expected = by_recipe[place]
        if expected is None:
            unknown.add(run.environment)
        else:
            seconds += expected
    names = tuple(name for name in plan.environments if name in unknown)
    return Estimate(plan.total, len(there), seconds, names)


def _runs(plan: Plan) -> Iterable[Run]:
    """Every run, as if each first value were chosen: which one is chosen does not matter for how long it takes."""
    first: Mapping[tuple[str, str], object] = {
        (environment, variant): values[0]
        for values in plan.tuning.values()
        for environment in plan.environments
        for variant in plan.variants
    }
    return [*untrained(plan), *trials(plan), *compared(plan, first)]


def _look(plan: Plan, recorded: FolderResults | None) -> tuple[_Known, set[Run]]:
    """What is known of the runs of a plan, and which of them are there."""
    known = _Known()
    there: set[Run] = set()
    if recorded is None:
        return known, there
    chosen = recorded.chosen()
    by_place = {(run.environment, run.variant, run.seed): run for run in _runs(plan) if not run.is_trial}
    for run in [*untrained(plan), *trials(plan), *compared(plan, chosen)]:
        result = recorded.of(run)
        if result is not None:
            known.add(run, result.cpu_seconds)
            there.add(run if run.is_trial else by_place[run.environment, run.variant, run.seed])
    return known, there


def of_recipe(plan: Plan, environment: str, variant: str) -> float | None:
    """CPU seconds of a training, from those of its recipe that were measured: for each episode as many."""
    spec = plan.spec_of(environment, variant, 0)
    recipe = next((one for one in recipes.all_recipes() if one.name == spec.recipe), None)
    if recipe is None or recipe.result is None:
        return None
    measured = statistics.fmean(one.cpu_seconds for one in recipe.result.seeds)
    return measured * _episodes(spec) / _episodes(recipe.training_spec)


def _episodes(spec: TrainingSpec) -> int:
    return spec.updates * spec.episodes
