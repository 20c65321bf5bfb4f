"""A board as a table for LaTeX, with a caption that says what its numbers mean and what they leave out."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils import timezone

from apps.leaderboard.board import Row
from apps.leaderboard.boards import citation
from apps.leaderboard.boards.reading import BoardView
from apps.leaderboard.proofs.reading import standing_of

ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    }
)


def as_latex(view: BoardView, stand_ins: Sequence[str]) -> str:
    """A table for `booktabs`, below the entry for BibTeX that its caption cites.

    Args:
        stand_ins: the environments that use other data than the benchmark names.
    """
    lines = [f"% {line}" for line in citation.as_bibtex(view.benchmark, view.season).splitlines()]
    lines += [
        "% \\usepackage{booktabs}",
        r"\begin{table}",
        r"  \centering",
        r"  \begin{tabular}{rllrrl}",
        r"    \toprule",
    ]
    lines.append(r"    Rank & Agent & Score (95\,\% interval) & Solved & Episodes & Tier \\")
    lines.append(r"    \midrule")
    lines += [f"    {' & '.join(_cells(row))} " + r"\\" for row in view.rows]
    lines += [r"    \bottomrule", r"  \end{tabular}", f"  \\caption{{{_caption(view, stand_ins)}}}"]
    lines += [f"  \\label{{tab:{citation.key(view.benchmark, view.season)}}}", r"\end{table}"]
    return "\n".join(lines) + "\n"


def _cells(row: Row) -> list[str]:
    score = row.score
    has_interval = score.low is not None and score.high is not None
    return [
        escaped(row.rank) or "--",
        escaped(score.agent.name) + ("*" if score.errors else ""),
        f"{score.mean:.2f}" + (f" ({score.low:.2f} to {score.high:.2f})" if has_interval else ""),
        f"{100 * score.success_rate:.1f}" + r"\,\%",
        str(score.n),
        escaped(standing_of(score.job).tier) or "--",
    ]


def _caption(view: BoardView, stand_ins: Sequence[str]) -> str:
    benchmark, season = view.benchmark, view.season
    board = f"{benchmark.title}, version {benchmark.version}" + (f", season {season.number}" if season else "")
    board += f", {view.env_id}" if view.env_id else f", mean over {len(benchmark.entries)} environments"
    board += ", with tools" if view.with_tools else ""
    sentences = [
        f"{board}, as of {timezone.now():%Y-%m-%d}. A score of 0 is random and 1 {benchmark.one}.",
        *(
            ["Of rows with an asterisk, some episodes are not counted."]
            if any(one.errors for one in view.scores)
            else []
        ),
        *([f"Played on stand-in data: {', '.join(stand_ins)}."] if stand_ins else []),
    ]
    return f"{escaped(' '.join(sentences))} \\cite{{{citation.key(benchmark, season)}}}"


def escaped(text: str) -> str:
    """Text as LaTeX prints it."""
    return text.translate(ESCAPES)
