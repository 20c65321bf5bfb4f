"""How far a study is: a cell for each of its runs, and the curves of those that are under way."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from django.utils import timezone

from apps.pictures import NO_BREAK
from apps.studies.models import Study, StudyRun
from gem.studies.study import Study as Plan

WIDTH, HEIGHT = 100, 100


class RunCell(NamedTuple):
    """One run."""

    row: StudyRun
    state: str
    """`done`, `running`, `failed` or `waiting`."""
    words: str

    @property
    def mark(self) -> str:
        """How its cell is drawn (`data-s`)."""
        return {"done": "won", "failed": "error", "running": "running"}.get(self.state, "")

    @property
    def icon(self) -> str:
        """The icon in its cell; empty for none."""
        return {"done": "check", "failed": "cross"}.get(self.state, "")

    @property
    def path(self) -> str:
        """The curve so far, over as much of the box as is done."""
        values = self.row.curve
        if len(values) < 2:
            return ""
        is_under_way = self.state != StudyRun.State.DONE and self.row.updates
        done = self.row.update / self.row.updates if is_under_way else 1.0
        points = (
            f"{WIDTH * done * place / (len(values) - 1):.1f} {HEIGHT * (1 - share):.1f}"
            for place, share in enumerate(values)
        )
        return "M" + " L".join(points)


class RunLine(NamedTuple):
    """The runs of a variant in an environment."""

    title: str
    note: str
    cells: list[RunCell]
    planned: int
    """How many more there will be, whose tuned value is not chosen yet."""

    @property
    def done(self) -> int:
        """How many have a result."""
        return sum(cell.state == "done" for cell in self.cells)

    @property
    def total(self) -> int:
        """How many there will be."""
        return len(self.cells) + self.planned

    @property
    def more(self) -> range:
        """A number for each run that is not known yet."""
        return range(self.planned)


def progress(study: Study) -> dict[str, Any]:
    """The context of the part of a page that changes while a study runs."""
    plan = study.plan
    rows = list(StudyRun.objects.filter(study=study).defer("result_data"))
    cells = [cell_of(row, plan) for row in rows]
    running = [cell for cell in cells if cell.state == "running"]
    return {
        "lines": list(_lines(plan, cells)),
        "running": running,
        "failed": [cell for cell in cells if cell.state == "failed"],
        "share": round(100 * study.done / study.total) if study.total else 0,
        "cpu_hours": study.cpu_seconds / 3600,
    }


def _lines(plan: Plan, cells: Iterable[RunCell]) -> Iterable[RunLine]:
    by_place: dict[tuple[str, str], list[RunCell]] = {}
    for cell in cells:
        by_place.setdefault((cell.row.environment, cell.row.variant), []).append(cell)
    each = plan.seeds + sum(map(len, plan.tuning.values()))
    for policy in plan.first_policies:
        found = by_place.get(("untrained", policy), [])
        yield RunLine(policy, "before any training", found, 1 - len(found))
    for environment in plan.environments:
        for variant, about in plan.variants.items():
            found = by_place.get((environment, variant), [])
            yield RunLine(environment, about.title, found, each - len(found))


def cell_of(row: StudyRun, plan: Plan) -> RunCell:
    state: str = row.state
    if state == StudyRun.State.WAITING and row.lease_until is not None and row.lease_until > timezone.now():
        state = "running"
    return RunCell(row, state, f"{name_of(row, plan)}: {_in_words(row, state)}")


def name_of(row: StudyRun, plan: Plan) -> str:
    """Which run it is, in words."""
    if row.run.is_untrained:
        return f"{row.variant} before any training"
    title = plan.variants[row.variant].title if row.variant in plan.variants else row.variant
    kind = f"trial of {row.tuned}" if row.is_trial else f"seed {row.seed}"
    return f"{row.environment}, {title}, {kind}"


def _in_words(row: StudyRun, state: str) -> str:
    if state == "running":
        return f"update {row.update} of {row.updates}" if row.updates else "begins"
    if state == StudyRun.State.DONE and row.curve:
        return f"ends at {100 * row.curve[-1]:.0f}{NO_BREAK}%"
    if state == StudyRun.State.DONE:
        return "with a result that came with gemweb" if row.is_reused else "done"
    return "failed" if state == StudyRun.State.FAILED else "not yet made"
