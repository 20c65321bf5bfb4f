"""What others take along: the table as a file, a table to embed, a badge, a citation, and a feed of first places.

The embedded table, the badge and the feed stand on other sites: they know no session, may be kept by caches, and show
only what everybody may see.
"""

from __future__ import annotations

import csv
from typing import Any

from csp.decorators import csp_replace
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import add_never_cache_headers, patch_cache_control
from django.utils.feedgenerator import Atom1Feed
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import conditional_page, require_GET, require_safe

from apps.jobs.models import Job
from apps.leaderboard.board import Row
from apps.leaderboard.boards import citation, filters, latex, reading
from apps.leaderboard.boards.computing import benchmark_of
from apps.leaderboard.boards.costs import Cost, costs_of
from apps.leaderboard.boards.filters import Choice
from apps.leaderboard.boards.keys import BoardKey
from apps.leaderboard.boards.reading import BoardView
from apps.leaderboard.details import scale_of
from apps.leaderboard.evidence import Evidence, evidence_of
from apps.leaderboard.models import FirstPlace, Score
from apps.leaderboard.proofs import reading as proofs
from apps.leaderboard.reading import find_benchmark

SECONDS_KEPT = 300
"""For so long others may keep a badge or an embedded table."""
MOST_EMBEDDED = 50
MOST_PLACES = 50
"""Entries of the feed."""
NOBODY = AnonymousUser()
LETTER, PADDING = 5.9, 8
"""The width of a letter of a badge and the space beside its texts, in pixels."""
TONES = {"win": "#0f6b4f", "loss": "#a32b22", "muted": "#5b5f66"}
"""The ground of what a badge says; the letters on it are white."""
COLUMNS = (
    "rank",
    "agent",
    "owner",
    "tools",
    "environment",
    "score",
    "low",
    "high",
    "why_no_interval",
    "return",
    "solved",
    "episodes",
    "errors",
    "partial",
    "solved_low",
    "solved_high",
    "stand_in_data",
    "tokens_per_episode",
    "turns_per_episode",
    "money_per_episode",
    "actions",
    "unreadable_share",
    "forbidden_share",
    "benchmark",
    "version",
    "season",
    "date",
    "job",
    "row",
    "tier",
    "ranked_with",
    "mark",
)


@never_cache
@require_GET
def scores(request: HttpRequest) -> HttpResponse:
    """A board as a CSV file: all its rows in all their tiers, with the raw values beside the scores."""
    view = _view(filters.read(request.GET))
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{citation.key(view.benchmark, view.season)}.csv"'
    writer = csv.writer(response)
    writer.writerow(COLUMNS)
    listed = view.scores
    evidence = evidence_of(listed)
    costs = costs_of(listed, evidence, request.user, view.env_id)
    for section in view.sections:
        for row in section.rows:
            key = row.score.job_id
            cells = _cells(row, view, costs[key], evidence[key])
            writer.writerow([*cells, section.group.value, row.score.mark])
    return response


@never_cache
@require_GET
def table(request: HttpRequest) -> HttpResponse:
    """A board as a table for LaTeX, with all rows in all their tiers."""
    view = _view(filters.read(request.GET))
    evidence = evidence_of(view.scores)
    stand_ins = {use.env_id for one in evidence.values() for use in one.stand_ins(view.env_id)}
    text = latex.as_latex(view, sorted(stand_ins))
    response = HttpResponse(text, content_type="application/x-tex; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{citation.key(view.benchmark, view.season)}.tex"'
    return response


def _view(choice: Choice) -> BoardView:
    season = choice.season_of(reading.seasons_of(choice.benchmark))
    return reading.read(choice.benchmark, season, env_id=choice.env_id, with_tools=choice.with_tools)


def _cells(row: Row, view: BoardView, cost: Cost, evidence: Evidence) -> list[Any]:
    score, owner, tally = row.score, row.score.job.owner, evidence.tally(view.env_id)
    stand_ins = evidence.stand_ins(view.env_id)
    return [
        row.rank,
        _csv_text(score.agent.name),
        owner.username if owner else "",
        _csv_text(score.tools),
        view.env_id or "all",
        *(score.mean, score.low, score.high, score.reason),
        *(score.mean_return, score.success_rate, score.n, score.errors),
        *("yes" if score.errors else "no", score.success_low, score.success_high),
        "; ".join(f"{use.env_id}: {use.name} {use.data_hash} for {use.stands_in_for}" for use in stand_ins),
        *("" if amount is None else round(amount, 6) for amount in (cost.tokens, cost.turns, cost.money)),
        *(tally.actions or "", tally.unreadable_share, tally.forbidden_share),
        *(score.benchmark, score.benchmark_version, view.season.number if view.season else ""),
        *(score.created.isoformat(), score.job_id, row.row, proofs.standing_of(score.job).tier),
    ]


def _csv_text(text: str) -> str:
    """Text that a person entered, escaped where a spreadsheet would read it as a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


@require_safe
@conditional_page
@xframe_options_exempt
@csp_replace({"frame-ancestors": ["*"]})
def embed(request: HttpRequest) -> HttpResponse:
    """The first rows of a board as a page of its own, which any site may show in a frame."""
    choice = filters.read(request.GET)
    view = _view(choice)
    context = {
        "view": view,
        "rows": choice.shown(view.rows)[:MOST_EMBEDDED],
        "address": f"{settings.SITE_URL}/leaderboard/{choice.address()}",
        **scale_of(view.scores[:MOST_EMBEDDED]),
    }
    return _shared(request, HttpResponse(render_to_string("leaderboard/embed.html", context)))


def _badge_of(score: Score) -> tuple[str, str, str]:
    """What the badge of a row says: the benchmark, and the rank with the tier; and its tone."""
    season, row = score.job.batch.season, None
    key = BoardKey(score.benchmark, score.benchmark_version, season.pk if season else None, "", bool(score.tools))
    benchmark = benchmark_of(key)
    if benchmark is not None:
        view = reading.read(benchmark, season, env_id=score.env_id, with_tools=bool(score.tools))
        row = next((row for row in view.rows if row.score.pk == score.pk), None)
    left = f"{score.benchmark} v{score.benchmark_version}" + (f", season {season.number}" if season else "")
    standing = proofs.standing_of(score.job)
    if score.mark == score.Mark.WITHDRAWN:
        return left, "withdrawn", "loss"
    if row is None or not row.rank:
        return left, f"score {score.mean:.2f}", "muted"
    return left, f"rank {row.rank}, score {score.mean:.2f}{f', {standing.tier}' if standing.tier else ''}", "win"


@require_safe
@conditional_page
def badge(request: HttpRequest, score_id: int) -> HttpResponse:
    """The badge of a row as a picture: benchmark, season, rank, score and tier."""
    score = proofs.find(request.user, score_id)
    left, right, tone = _badge_of(score)
    lengths = round(LETTER * len(left)), round(LETTER * len(right))
    widths = lengths[0] + 2 * PADDING, lengths[1] + 2 * PADDING
    context = {
        "left": left,
        "right": right,
        "tone": TONES[tone],
        "left_length": lengths[0],
        "right_length": lengths[1],
        "left_width": widths[0],
        "right_width": widths[1] - 4,
        "width": sum(widths),
        "left_middle": widths[0] / 2,
        "right_middle": widths[0] + widths[1] / 2,
    }
    response = HttpResponse(render_to_string("leaderboard/badge.svg", context), content_type="image/svg+xml")
    if Job.objects.visible_to(NOBODY).filter(pk=score.job_id).exists():
        return _shared(request, response)
    add_never_cache_headers(response)  # a private row has one too, for those who may see it
    return response


@require_safe
@conditional_page
def cite(request: HttpRequest) -> HttpResponse:
    """The citation of a benchmark in its present version and season, as a CFF file."""
    choice = filters.read(request.GET)
    season = choice.season_of(reading.seasons_of(choice.benchmark))
    response = HttpResponse(citation.as_cff(choice.benchmark, season), content_type="application/yaml; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{choice.benchmark.name}-CITATION.cff"'
    return _shared(request, response)


@require_safe
@conditional_page
def first(request: HttpRequest) -> HttpResponse:
    """The newest first places of all boards, or of those of one benchmark, as an Atom feed."""
    places = FirstPlace.objects.public().select_related("ranking__season", "score__agent", "score__job__owner")
    title, page = "First places", reverse("leaderboard:benchmark")
    if name := request.GET.get("benchmark", ""):
        benchmark = find_benchmark(name)
        places = places.filter(ranking__benchmark=benchmark.name)
        title, page = f"First places on {benchmark.title}", f"{page}?benchmark={benchmark.name}"
    feed = Atom1Feed(
        title=f"{title}, {settings.SITE_URL}",
        link=f"{settings.SITE_URL}{page}",
        description="Who leads the boards of this site, and since when.",
        language="en",
        feed_url=f"{settings.SITE_URL}{request.get_full_path()}",
    )
    for place in places[:MOST_PLACES]:
        row = f"{settings.SITE_URL}{place.score.get_absolute_url()}"
        feed.add_item(
            title=_title(place),
            link=row,
            description=_sentence(place),
            unique_id=f"{row}#first-{place.pk}",
            pubdate=place.created,
            updateddate=place.created,
            author_name=place.score.job.owner.get_username() if place.score.job.owner else "the site",
        )
    return _shared(request, HttpResponse(feed.writeString("utf-8"), content_type="application/atom+xml; charset=utf-8"))


def _title(place: FirstPlace) -> str:
    board = place.ranking
    season = f", season {board.season.number}" if board.season else ""
    tools = ", with tools" if board.with_tools else ""
    return f"{place.score.agent.name} leads {board.benchmark} v{board.version}{season}{tools}"


def _sentence(place: FirstPlace) -> str:
    score = place.score
    interval = "" if score.low is None or score.high is None else f" ({score.low:.2f} to {score.high:.2f})"
    ranks = "It is surely first." if place.worst == 1 else f"Its rank may be any from 1 to {place.worst}."
    return f"Score {score.mean:.2f}{interval} in {score.n:,} episodes. {ranks}"


def _shared(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """A response that does not depend on who asks, so that caches may keep it for everybody.

    Middleware has looked for a session, for limits and the like. Nothing of the response comes from it, and so it does
    not vary by cookie.
    """
    request.session.accessed = False
    patch_cache_control(response, public=True, max_age=SECONDS_KEPT)
    return response
