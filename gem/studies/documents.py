"""A study as a page of documentation: a Markdown file with its table and sentences, and a figure."""

from __future__ import annotations

from pathlib import Path

from gem.studies.figures import curves
from gem.studies.report import Report, Row


def write(report: Report, folder: Path) -> list[Path]:
    """Write `NAME.md` and, if there are results, `NAME.svg`; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    name = report.study.name
    page, figure = folder / f"{name}.md", folder / f"{name}.svg"
    page.write_text(markdown(report), encoding="utf-8")
    if not report.rows:
        return [page]
    figure.write_text(curves(report), encoding="utf-8")
    return [page, figure]


def markdown(report: Report) -> str:
    """The page's text."""
    study = report.study
    parts = [f"# {study.title}", study.question, *_table(report), *_matrix(report)]
    if report.rows:
        parts.append(f"![Learning curves of each variant in each environment]({study.name}.svg)")
        parts.append(
            "Solved: share of held-out episodes, as an interquartile mean over environments and seeds, with a 95 % "
            "interval from a bootstrap that is stratified by environment. Area: mean share solved during the whole "
            "training. In the figure: share solved during the training, mean and range of the seeds."
        )
    parts.append("\n".join(f"- {sentence}" for sentence in report.sentences))
    if study.tuning:
        parts.append(_tuning(report))
    parts.append(
        f"{report.done} of {report.total} trainings, {report.cpu_seconds / 3600:.1f} CPU hours. "
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


def _matrix(report: Report) -> list[str]:
    if not report.elsewhere:
        return []
    shares = {(one.trained_in, one.measured_in): one.share for one in report.elsewhere}
    headings = ["trained in \\ measured in", *report.study.measured_in]
    lines = [_line(headings), _line(["---"] * len(headings))]
    for trained in report.environments:
        row = [shares.get((trained, measured)) for measured in report.study.measured_in]
        lines.append(_line([trained, *("" if share is None else f"{100 * share.mean:.0f} %" for share in row)]))
    return ["\n".join(lines)]


def _tuning(report: Report) -> str:
    (setting, values), *_ = report.study.tuning.items()
    each = "; ".join(
        f"{row.title} {', '.join(f'{cell.tuned:g}' for cell in row.cells)}" for row in report.rows if row.cells
    )
    tried = ", ".join(f"{value:g}" for value in values)
    order = f" (in {', '.join(report.environments)})" if report.rows else ""
    chosen = f" Chosen{order}: {each}." if each else ""
    return f"Each variant tried `{setting}` {tried}, one training each with a seed of its own.{chosen}"


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
