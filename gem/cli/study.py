"""`gemweb study`: list the studies of training, make their runs, and report what they show; `gemweb study credit`
measures how good the credit of each algorithm is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.cli.output.tables import table
from gem.credit import ALGORITHMS
from gem.errors import InvalidArgument
from gem.validation.dependencies import FIGURE_PACKAGES, TRAINING_PACKAGES, require_installed

if TYPE_CHECKING:
    from gem.studies.credit import CreditPoint
    from gem.studies.judging import Truth
    from gem.studies.matrix import Matrix
    from gem.studies.report import Report, Row
    from gem.studies.results import FolderResults, RunResult
    from gem.studies.study import Run

WORK = Path("runs/studies")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("list", help="list the studies and how much of each is done")
    for verb, purpose in (("run", "make the runs without a result"), ("report", "print what the results show")):
        one = verbs.add_parser(verb, help=purpose)
        one.add_argument("name", metavar="STUDY", help="a study of the list, or a file NAME.json of your own")
        one.add_argument(
            "--results", type=Path, metavar="FOLDER", help="where results are (of your own study: beside its file)"
        )
        if verb == "run":
            one.add_argument("--seeds", type=int, metavar="N", help="only the first N seeds (all)")
            one.add_argument("--only", action="append", metavar="NAME", help="only this environment of the study")
            one.add_argument("--minutes", type=float, metavar="N", help="begin no run after N minutes of CPU time")
            one.add_argument("--work", type=Path, default=WORK, metavar="FOLDER", help=f"trainings under way ({WORK})")
        else:
            one.add_argument("--out", type=Path, metavar="FOLDER", help="also write NAME.md and its figures there")
    credit = verbs.add_parser(
        "credit", help="measure the credit of each algorithm during a training, compared with the truth"
    )
    credit.add_argument("recipe", metavar="RECIPE", help="whose environment and settings are trained with, with PPO")
    credit.add_argument("--seed", type=int, default=0, metavar="N", help="of the training (0)")
    credit.add_argument("--updates", type=int, metavar="N", help="of the training (those of the recipe)")
    credit.add_argument("--truth", choices=["exact", "forks"], help="exact where that is possible, by default")
    credit.add_argument("--record", action="store_true", help="keep the result with those that come with gemweb")


def run(verb: str, **options: Any) -> int:
    """List, run or report."""
    verbs: dict[str, Callable[..., int]] = {"list": _list, "run": _run, "report": _report, "credit": _credit}
    return verbs[verb](**options)


def _list() -> int:
    from gem.studies.results import FolderResults  # noqa: PLC0415 (a quick start)
    from gem.studies.study import all_studies  # noqa: PLC0415

    rows = []
    for study in all_studies():
        results = FolderResults(study)
        rows.append([study.name, f"{results.done} of {results.total}", f"{results.cpu_seconds / 3600:.1f}"])
    table(["study", "runs", "CPU h"], rows)
    for study in all_studies():
        print(f"\n{study.name}: {study.question}")
    return 0


def _run(
    name: str,
    results: Path | None,
    seeds: int | None,
    only: list[str] | None,
    minutes: float | None,
    work: Path,
) -> int:
    from gem.studies.running import make_missing  # noqa: PLC0415 (a quick start)

    require_installed("A study", TRAINING_PACKAGES)
    if seeds is not None and seeds < 1:
        raise InvalidArgument(f"--seeds is 1 or more, not {seeds}.")
    if minutes is not None and minutes <= 0:
        raise InvalidArgument(f"--minutes is above 0, not {minutes:g}.")
    own = _results(name, results)
    unknown = [environment for environment in only or () if environment not in own.study.environments]
    if unknown:
        names = ", ".join(own.study.environments)
        raise InvalidArgument(f"The study has no environment {unknown[0]!r}; choose from {names}.")
    _tell(f"{own.done} of {own.total} runs have a result in {own.folder}. Ctrl-C stops; the same command goes on.")
    made = make_missing(
        own,
        work,
        seeds=seeds,
        environments=only or (),
        cpu_seconds=float("inf") if minutes is None else 60 * minutes,
        on_run=_tell_run,
    )
    _tell(f"{made} runs were made; {own.done} of {own.total} have a result.")
    return _report(name, results, None)


def _report(name: str, results: Path | None, out: Path | None) -> int:
    from gem.studies.report import report  # noqa: PLC0415 (a quick start)

    own = _results(name, results)
    found = report(own)
    _print(found)
    if out is not None:
        require_installed("The figure of a study", FIGURE_PACKAGES)
        from gem.studies.documents import write  # noqa: PLC0415 (as above)

        print(f"Written: {', '.join(str(path) for path in write(found, out))}")
    return 0


def _credit(recipe: str, seed: int, updates: int | None, truth: Truth | None, *, record: bool) -> int:
    from gem.studies import credit, judging  # noqa: PLC0415 (a quick start)

    require_installed("A study", TRAINING_PACKAGES)
    found = judging.measure(recipe, seed=seed, updates=updates, truth=truth, on_point=_tell_point)
    how = "computed exactly" if found.truth == "exact" else "measured by forking"
    print(f"{recipe}, {found.env_id}, discount {found.discount:g}, seed {seed}\n")
    titles = [info.title for info in ALGORITHMS.values()]
    table(
        ["correlation after", "solved", "return", *titles, "perfect credit", "turns"],
        [_point_row(point) for point in found.points],
    )
    print()
    table(["bias after", *titles], [_bias_row(point) for point in found.points])
    print(
        f"\nOf each algorithm's credit with the true advantage of the turn, {how}. Bias: mean credit minus mean truth, "
        "in standard deviations."
    )
    if record:
        print(f"Written: {credit.write(found)}")
    return 0


def _point_row(point: CreditPoint) -> list[str]:
    correlations = [point.algorithms[name].correlation for name in ALGORITHMS]
    return [
        str(point.update),
        f"{point.success:.0%}",
        f"{point.mean_return:.2f}",
        *("–" if value is None else f"{value:.2f}" for value in correlations),
        f"{point.ceiling:.2f}",
        str(point.turns),
    ]


def _bias_row(point: CreditPoint) -> list[str]:
    return [str(point.update), *(f"{point.algorithms[name].bias:+.2f}" for name in ALGORITHMS)]


def _tell_point(point: CreditPoint) -> None:
    _tell(f"update {point.update}: {point.turns} turns were judged")


def _results(name: str, folder: Path | None) -> FolderResults:
    from gem.studies.results import FolderResults  # noqa: PLC0415 (a quick start)
    from gem.studies.study import find  # noqa: PLC0415

    study = find(name)
    if folder is None and name.endswith(".json"):
        folder = Path(name).with_suffix(".results")
    return FolderResults(study, folder)


def _print(report: Report) -> None:
    print(f"{report.study.title}. {report.study.question}\n")
    if report.rows:
        table(["", "solved", "95 %", *report.environments, "area", "CPU s"], [_row(row) for row in report.rows])
        print()
    if report.matrix is not None:
        _print_matrix(report.matrix)
    for sentence in report.sentences:
        print(sentence)
    print(f"{report.cpu_seconds / 3600:.2f} CPU hours of training.")


def _print_matrix(matrix: Matrix) -> None:
    """Print a row for each environment that was trained in, with the columns numbered to keep them narrow."""
    numbers = [str(number) for number in range(1, len(matrix.measured_in) + 1)]
    rows = [
        [trained, *("–" if cell is None else f"{100 * cell.share.mean:.0f}" for cell in matrix.row(trained))]
        for trained in matrix.trained_in
    ]
    if matrix.averages:
        rows.append(["others, on average", *map(matrix.on_average, matrix.measured_in)])
    table(["trained in", *numbers], rows)
    print(f"Measured in: {', '.join(map(' '.join, zip(numbers, matrix.measured_in, strict=True)))}. Per cent solved.\n")


def _row(row: Row) -> list[str]:
    whole = row.aggregate
    return [
        row.title,
        f"{whole.mean:.1%}",
        f"{whole.low:.1%} to {whole.high:.1%}" if row.interval else "–",
        *(f"{cell.success:.0%}" for cell in row.cells),
        f"{row.area:.0%}",
        f"{row.cpu_seconds:.0f}",
    ]


def _tell_run(run: Run, result: RunResult) -> None:
    if run.is_trial:
        _tell(f"{run.environment}, {run.variant}, trial of {run.tuned}: {result.end:.0%} at the end")
    else:
        _tell(
            f"{run.environment}, {run.variant}, seed {run.seed}: solves {result.success:.0%} after "
            f"{result.cpu_seconds:.0f} CPU s"
        )


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
