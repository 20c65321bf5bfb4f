"""The page of a board: its rows, the season they were played in, and what the ranks rest on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from apps.accounts import visitors
from apps.benchmarks.reading import beside
from apps.episodes.errors import Refusal
from apps.jobs import pages
from apps.jobs.models import Job
from apps.leaderboard import human_tries
from apps.leaderboard.board import Row
from apps.leaderboard.boards import filters, reading, site_rows
from apps.leaderboard.boards.costs import Cost, costs_of
from apps.leaderboard.boards.filters import Choice
from apps.leaderboard.boards.keys import Group
from apps.leaderboard.boards.reading import BoardView, Claim, Section
from apps.leaderboard.details import detail_of, scale_of
from apps.leaderboard.evidence import evidence_of, shared_stand_ins
from apps.leaderboard.frontier import frontier
from apps.leaderboard.models import Score
from apps.leaderboard.proofs import reading as proofs
from apps.seasons.models import Season

MOST_UNPROVED = 20
"""Rows in the list of those that do not rank yet."""
MOST_IN_MATRIX = 12
"""Rows in the table of who is surely ahead of whom."""
MOST_CLOSE = 4
"""The pairs that are closest to a decision."""
AGENTS_SHOWN = 5
"""Agents in the panel that compares a person with them. The page of the person's episodes shows all."""
SEASONS_SHOWN = 6
"""Seasons side by side."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A section of a board with the rows that the filters leave."""

    section: Section
    rows: list[Row]


def board_page(request: HttpRequest, refusal: Refusal | None = None) -> HttpResponse:
    """The page of a board; with the notice of a refusal, if something was refused there."""
    choice = filters.read(request.GET)
    seasons = reading.seasons_of(choice.benchmark)
    if choice.season == filters.ALL and seasons:
        return render(request, "leaderboard/all_seasons.html", _side_by_side(choice, seasons))
    season = choice.season_of(seasons)
    view = reading.read(choice.benchmark, season, env_id=choice.env_id, with_tools=choice.with_tools)
    context = {
        "choice": choice,
        "benchmark": choice.benchmark,
        "env_id": choice.env_id,
        "names": beside(choice.benchmark),
        "seasons": seasons,
        "season": season,
        "both": _has_tools_and_none(choice),
        "filters": _offered(choice, view),
        "running": _running(request, choice),
        "site": site_rows.progress(choice.benchmark, season),
        "notice": refusal,
        **_rows(request, choice, view),
        **_ranks(view),
    }
    if season is None and not choice.with_tools:
        context["verdict"] = human_tries.verdict(
            choice.benchmark, view.scores, request.user, visitors.known(request), env_id=choice.env_id
        )
        context["agents_shown"] = AGENTS_SHOWN
    return render(request, "leaderboard/benchmark.html", context, status=refusal.status if refusal else 200)


def _rows(request: HttpRequest, choice: Choice, view: BoardView) -> dict[str, Any]:
    """The rows that the filters leave, and what stands in their columns."""
    scores = view.scores
    evidence = evidence_of(scores)
    costs = costs_of(scores, evidence, request.user, choice.env_id)
    has = _columns(costs)
    if not has[choice.against] and "against" not in request.GET and has["turns"]:
        choice = replace(choice, against="turns")
    amounts = {job: amount for job, cost in costs.items() if (amount := cost.of(choice.against)) is not None}
    history = reading.history_of(view.benchmark, view.rows) if view.season and view.season.number > 1 else {}
    return {
        "sections": [Shown(section, choice.shown(section.rows)) for section in view.sections],
        "count": len(view.rows),
        "costs": costs,
        "has": has,
        "choice": choice,
        "tries": reading.tries_of_all(view.season, view.rows),
        "history": history,
        "unproved": [(score, proofs.standing_of(score.job)) for score in _unproved(view)] if view.season else [],
        "withdrawn": reading.withdrawn(view.benchmark, view.season, with_tools=view.with_tools),
        "stand_ins": shared_stand_ins(evidence.values()),
        "frontier": frontier(scores, amounts, choice.against) if scores else None,
        "opened": _opened(request, view),
        **scale_of(scores),
    }


def _opened(request: HttpRequest, view: BoardView) -> dict[str, Any] | None:
    """The details of the row that was opened; None if it is not on the board."""
    score = next((score for score in view.scores if str(score.pk) == request.GET.get("row", "")), None)
    if score is None:
        return None
    score.job.agent, score.job.batch.season = score.agent, view.season
    return detail_of(request, score)


def _unproved(view: BoardView) -> Iterable[Score]:
    """The newest rows on hidden seeds that do not rank yet."""
    scores = Score.objects.of(view.benchmark).in_season(view.season).with_tools(view.with_tools).unproved()
    related = scores.filter(env_id=view.env_id).select_related("agent", "job__owner", "job__reexecution")
    return related.order_by("-created")[:MOST_UNPROVED]


def _columns(costs: Mapping[str, Cost]) -> dict[str, bool]:
    """Which amounts any row has, by name."""
    return {name: any(cost.of(name) is not None for cost in costs.values()) for name in filters.AMOUNTS}


def _ranks(view: BoardView) -> dict[str, Any]:
    """What the ranks of the rows that our workers played rest on, of a whole benchmark."""
    section = next((each for each in view.sections if each.group == Group.PLAYED_HERE), None)
    if section is None or len(section.rows) < 2 or view.env_id:
        return {}
    claims = reading.claims_of(view, section.group)
    undecided = sorted((claim for claim in claims if not claim.is_sure and claim.difference), key=_closeness)
    by_row = {row.row: row for row in section.rows}
    close = [
        (by_row[claim.first], by_row[claim.second], claim, _more_seeds(claim, by_row[claim.first].score.n))
        for claim in undecided
        if claim.first in by_row and claim.second in by_row
    ]
    pairs = len(section.rows) * (len(section.rows) - 1) // 2
    return {"matrix": _matrix(section.rows, claims), "close": close[:MOST_CLOSE], "pairs": pairs, "ranked": section}


def _closeness(claim: Claim) -> float:
    """The smaller, the sooner more seeds would decide it."""
    return (claim.high - claim.low) / abs(claim.difference) if claim.low is not None and claim.high is not None else 1e9


def _more_seeds(claim: Claim, seeds: int) -> int | None:
    """About how many seeds more would narrow the interval of a difference until it leaves out 0."""
    if claim.low is None or claim.high is None:
        return None
    half = (claim.high - claim.low) / 2
    return max(1, round(seeds * ((half / claim.difference) ** 2 - 1)))


@dataclass(frozen=True, slots=True)
class MatrixLine:
    """A row of the table of who is surely ahead, and what is known of it against each other row."""

    row: Row
    cells: list[tuple[Row, str]]
    """The other row, and `ahead`, `tie`, `behind` or `self`; empty where they have yet to be compared."""


def _matrix(rows: Sequence[Row], claims: Sequence[Claim]) -> list[MatrixLine]:
    known = {(claim.first, claim.second): claim.verdict for claim in claims}
    known |= {(claim.second, claim.first): claim.seen_from(claim.second).verdict for claim in claims}
    shown = [row for row in rows if row.best][:MOST_IN_MATRIX]
    return [
        MatrixLine(row, [(other, "self" if other is row else known.get((row.row, other.row), "")) for other in shown])
        for row in shown
    ]


def _side_by_side(choice: Choice, seasons: Sequence[Season]) -> dict[str, Any]:
    """The rows of the last seasons beside each other, by agent and submitter."""
    shown = list(seasons[:SEASONS_SHOWN])[::-1]
    views = [
        reading.read(choice.benchmark, season, env_id=choice.env_id, with_tools=choice.with_tools) for season in shown
    ]
    lines: dict[tuple[Any, ...], dict[int, Row]] = {}
    for place, view in enumerate(views):
        for row in choice.shown([row for section in view.sections for row in section.rows]):
            tier = proofs.standing_of(row.score.job).tier
            owned = (row.score.agent_id, row.score.job.owner_id, row.score.tools, tier)
            lines.setdefault(owned, {})[place] = row
    ordered = sorted(lines.values(), key=lambda by_place: (-max(by_place), -by_place[max(by_place)].score.mean))
    return {
        "choice": choice,
        "benchmark": choice.benchmark,
        "env_id": choice.env_id,
        "names": beside(choice.benchmark),
        "seasons": seasons,
        "shown": shown,
        "both": _has_tools_and_none(choice),
        "filters": _offered(choice, views[-1]),
        "count": len(lines),
        "lines": [(line[max(line)], [line.get(place) for place in range(len(shown))]) for line in ordered],
        **scale_of([row.score for line in ordered for row in line.values()]),
    }


def _offered(choice: Choice, view: BoardView) -> dict[str, Any]:
    """The values of the filters, with the number of rows of each tier."""
    counts: dict[str, int] = {}
    for row in view.rows:
        tier = proofs.standing_of(row.score.job).tier
        counts[tier] = counts.get(tier, 0) + 1
    return {
        "tiers": [(name, words, counts.get(name, 0)) for name, words in filters.TIERS.items() if counts.get(name)],
        "sizes": [("10M", "Up to 10 M parameters"), ("1B", "Up to 1 B"), ("10B", "Up to 10 B")],
        "kinds": list(filters.KINDS.items()),
        "openness": list(filters.OPENNESS.items()),
        "amounts": list(filters.AMOUNTS.items()),
    }


def _has_tools_and_none(choice: Choice) -> bool:
    return choice.with_tools or Score.objects.of(choice.benchmark).with_tools(True).exists()


def _running(request: HttpRequest, choice: Choice) -> list[pages.Item]:
    jobs = Job.objects.active().listed_for(request.user).filter(spec__benchmark=choice.benchmark.name)
    return pages.items(jobs.exclude(site_rows.SUBMITTED).for_list().order_by("created"))
