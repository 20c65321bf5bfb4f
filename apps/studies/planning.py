"""Which runs of a study are there to be made: a row for each, in the order of the plan."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping

from django.db.models import Count, Q, Sum

from apps.admission.models import name_of
from apps.studies.models import Study, StudyRun
from gem.studies import results
from gem.studies.results import FolderResults, Results, RunResult
from gem.studies.study import Run, compared, trials, untrained
from gem.studies.study import Study as Plan


class StoredResults(Results):
    """The results of a study that was started here.

    Args:
        results: by the names of the runs' files.
    """

    def __init__(self, plan: Plan, results: Mapping[str, RunResult]) -> None:
        super().__init__(plan)
        self._results = results

    def of(self, run: Run) -> RunResult | None:
        """See `Results.of`. The plan of a study that was started does not change."""
        return self._results.get(run.file)


def results_of(study: Study, plan: Plan | None = None) -> StoredResults:
    """The results that are there.

    Args:
        plan: that of the study, if the caller has read it.
    """
    rows = StudyRun.objects.filter(study=study, state=StudyRun.State.DONE)
    found = {row.run.file: result for row in rows if (result := row.result) is not None}
    return StoredResults(plan or study.plan, found)


def numbered(plan: Plan, chosen: Mapping[tuple[str, str], object]) -> Iterator[tuple[int, Run]]:
    """Every run that is known now, with its place among all: what needs no training, trials, then seed by seed.

    Args:
        chosen: the values of the tuned setting, as in `gem.studies.study.compared`.
    """
    first = [*untrained(plan), *trials(plan)]
    yield from enumerate(first)
    places = {place: number for number, place in enumerate(itertools.product(plan.environments, plan.variants))}
    for run in compared(plan, chosen):
        yield len(first) + run.seed * len(places) + places[run.environment, run.variant], run


def plan_runs(study: Study, plan: Plan) -> int:
    """Add a row for each run that is known now and has none: first all trials, and where these have ended, the runs
    with the value that was chosen. The caller has locked the study. Returns the number of new rows."""
    recorded = recorded_results(plan) if study.reuses_results else None
    number = 0
    while new := _missing(study, plan, recorded):
        StudyRun.objects.bulk_create(new)
        number += len(new)
    return number


def _missing(study: Study, plan: Plan, recorded: Results | None) -> list[StudyRun]:
    have = set(StudyRun.objects.filter(study=study).values_list("number", flat=True))
    chosen = results_of(study, plan).chosen()
    return [
        _row(study, number, run, None if recorded is None else recorded.of(run))
        for number, run in numbered(plan, chosen)
        if number not in have
    ]


def _row(study: Study, number: int, run: Run, result: RunResult | None) -> StudyRun:
    row = StudyRun(
        study=study,
        number=number,
        environment=run.environment,
        variant=run.variant,
        seed=run.seed,
        tuned=run.tuned,
        person=name_of(study.owner_id),
    )
    if result is not None:
        row.state, row.is_reused = StudyRun.State.DONE, True
        row.result_data, row.cpu_seconds = result.model_dump(mode="json"), result.cpu_seconds
        row.curve = list(result.curve)
    return row


def recorded_results(plan: Plan) -> FolderResults | None:
    """The results of the study of this name that come with gemweb; None if there are none. Each counts only for the
    very settings that it was made with."""
    folder = results.FOLDER / plan.name
    return FolderResults(plan, folder) if folder.is_dir() else None


def count(study: Study) -> None:
    """Note on a study, which the caller has locked and saves, how much of it is done."""
    done = Q(state=StudyRun.State.DONE)
    sums = StudyRun.objects.filter(study=study).aggregate(
        done=Count("pk", filter=done),
        reused=Count("pk", filter=done & Q(is_reused=True)),
        seconds=Sum("cpu_seconds", filter=done & Q(is_reused=False), default=0.0),
    )
    study.done, study.reused, study.cpu_seconds = sums["done"], sums["reused"], sums["seconds"]
