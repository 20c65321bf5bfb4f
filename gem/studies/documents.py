"""A study as a page of documentation: a Markdown file with its sentences and tables, and figures."""

from __future__ import annotations

import json
from pathlib import Path

from gem.evaluation.intervals import Interval
from gem.studies.figures import figures_of
from gem.studies.matrix import Transfer
from gem.studies.report import Report, Row

AVERAGES = (
    "On average: of the policies that were trained in other environments, in per cent, each environment with the same "
    "weight. An arrow: clearly more (↑) or less (↓) than before any training, with intervals that hold for all columns "
    "together with 95 %. Versions of an environment, such as a larger board, are not others."
)


def write(report: Report, folder: Path) -> list[Path]:
    """Write `NAME.md` and the figures that the results allow; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    name = report.study.name
    page = folder / f"{name}.md"
    page.write_text(markdown(report), encoding="utf-8")
    paths = [page]
    for figure in figures_of(report):
        paths.append(folder / figure.file(name))
        paths[-1].write_text(figure.draw(report), encoding="utf-8")
    return paths


def markdown(report: Report) -> str:
    """The page's text."""
    study = report.study
    parts = [f"# {study.title}", study.question, "\n".join(f"- {sentence}" for sentence in report.sentences)]
    parts += [*_table(report), *_turns(report), *_matrix(report)]
    parts += [f"![{figure.alt}]({figure.file(study.name)})\n\n{figure.legend}" for figure in figures_of(report)]
    if report.rows:
        parts.append(
            "Solved: share of held-out episodes, as an interquartile mean over environments and seeds, with a 95 % "
            "interval from a bootstrap that is stratified by environment. Area: mean share solved during the whole "
            "training. Differences in the sentences: of means over environments, with simultaneous 95 % intervals "
            "(Welch's t)."
        )
    if study.tuning:
        parts.append(_tuning(report))
    parts.append(
        f"{report.done} of {report.total} runs, {report.cpu_seconds / 3600:.1f} CPU hours. "
        f"`gemweb study run {study.name}` makes those that are missing; `gemweb study report {study.name}` prints this."
    )
    return "\n\n".join(part for part in parts if part) + "\n"


def _table(report: Report) -> list[str]:
    if not report.rows:
        return []
    headings = ["", "solved", *report.environments, "area", "CPU s"]
    lines = [_line(headings), _line(["---"] * len(headings)), *(_line(_cells(row)) for row in report.rows)]
    return ["\n".join(lines)]


def _cells(row: Row) -> list[str]:
    whole = row.aggregate
    return [
        row.title,
        f"{100 * whole.mean:.1f} %" + (f" ({100 * whole.low:.1f} to {100 * whole.high:.1f})" if row.interval else ""),
        *(f"{100 * cell.success:.0f} %" for cell in row.cells),
        f"{100 * row.area:.0f} %",
        f"{row.cpu_seconds:.0f}",
    ]


def _turns(report: Report) -> list[str]:
    tables = []
    for used in report.turns_used:
        lines = [_line([used.environment, "turns of solved episodes", "solved"]), _line(["---"] * 3)]
        lines += [_line([point.title, _number(point.turns), _share(point.solved)]) for point in used.points]
        lines.append(_line(["best strategy", f"{used.optimum:g}", "100 %"]))
        tables.append("\n".join(lines))
    return tables


def _matrix(report: Report) -> list[str]:
    found = report.matrix
    if found is None:
        return []
    headings = ["trained in \\ measured in", *found.measured_in]
    lines = [_line(headings), _line(["---"] * len(headings))]
    for trained in found.trained_in:
        cells = found.row(trained)
        lines.append(_line([trained, *("" if cell is None else _cell(cell) for cell in cells)]))
    lines.append(_line(["*before any training*", *(f"{found.before(name)} %" for name in found.measured_in)]))
    if not found.averages:
        return ["\n".join(lines)]
    lines.append(_line(["*trained in others, on average*", *map(found.on_average, found.measured_in)]))
    return ["\n".join(lines), AVERAGES]


def _cell(cell: Transfer) -> str:
    share = f"{100 * cell.share.mean:.0f} %"
    return f"**{share}**" if cell.is_own else share


def _number(interval: Interval) -> str:
    return f"{interval.mean:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def _share(interval: Interval) -> str:
    return f"{100 * interval.mean:.0f} % ({100 * interval.low:.0f} to {100 * interval.high:.0f})"


def _tuning(report: Report) -> str:
    (setting, values), *_ = report.study.tuning.items()
    each = "; ".join(
        f"{row.title} {', '.join(_value(cell.tuned) for cell in row.cells)}" for row in report.rows if row.cells
    )
    tried = ", ".join(map(_value, values))
    order = f" (in {', '.join(report.environments)})" if report.rows else ""
    chosen = f" Chosen{order}: {each}." if each else ""
    return f"Each variant tried `{setting}` {tried}, one training each with a seed of its own.{chosen}"


def _value(tuned: float | str | bool) -> str:
    return json.dumps(tuned) if isinstance(tuned, bool) else tuned if isinstance(tuned, str) else f"{tuned:g}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
