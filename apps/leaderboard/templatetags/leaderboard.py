"""Template tags of boards: addresses, tiers, and scores over seasons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.templatetags.static import static
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from apps import pictures
from apps.jobs.models import Job
from apps.leaderboard.board import Row
from apps.leaderboard.boards.filters import Choice
from apps.leaderboard.models import Score
from apps.leaderboard.proofs import reading
from apps.leaderboard.proofs.reading import Standing
from apps.seasons.models import Season
from gem.benchmarks import Reference

register = template.Library()

WIDTH, HEIGHT, MARGIN = 96.0, 30.0, 4.0
"""Of a line of scores over seasons."""


@register.simple_tag
def board_address(choice: Choice, **changed: Any) -> str:
    """The query of a board with some values changed: `{% board_address choice sort="n" %}`."""
    return choice.address(**{name: str(value) for name, value in changed.items()})


@register.simple_tag
def board_json(choice: Choice, season: Season | None) -> str:
    """The address of a board in the API."""
    query = Choice(choice.benchmark, season=str(season.number) if season else "", env_id=choice.env_id).address(
        benchmark="", tools="true" if choice.with_tools else ""
    )
    return f"/api/v1/leaderboard/{choice.benchmark.name}{query if len(query) > 1 else ''}"


@register.simple_tag
def tier_mark(job: Job) -> SafeString:
    """The tier of a row: a word with an icon, whose sentence opens above the page."""
    standing = reading.standing_of(job)
    return format_html(
        '<button class="tier" type="button" data-tier="{}" popovertarget="{}">'
        '<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>{}</button>',
        standing.tier,
        _tip_id(standing),
        static("icons.svg"),
        standing.icon,
        standing.word.lower(),
    )


@register.simple_tag
def tier_tips() -> SafeString:
    """The sentences of all tiers, each of which its marks open."""
    return format_html_join(
        "",
        '<div class="tip" id="{}" popover><b><svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>{}.</b> '
        "{}</div>",
        [(_tip_id(tip), static("icons.svg"), tip.icon, tip.word, tip.sentence) for tip in reading.STANDINGS],
    )


def _tip_id(standing: Standing) -> str:
    return f"tier-{standing.word.lower().replace(' ', '-')}"


@register.simple_tag
def spark(scores: Sequence[Score] | None, colour: int) -> SafeString:
    """The scores of an agent over seasons, from 0 to 1, as a line with a point for each."""
    if not scores:
        return SafeString("–")
    step = (WIDTH - 2 * MARGIN) / max(1, len(scores) - 1)
    first = MARGIN if len(scores) > 1 else WIDTH - MARGIN
    points = [(round(first + number * step, 1), _height_of(one.mean)) for number, one in enumerate(scores)]
    label = ", ".join(f"{one.mean:.2f}".replace("-", "−") for one in scores)
    return format_html(
        '<svg class="spark" data-c="{}" viewBox="0 0 96 30" role="img" aria-label="Scores by season: {}">'
        '<path d="M{}"/>{}</svg>',
        colour,
        label,
        "L".join(f"{x} {y}" for x, y in points),
        format_html_join("", '<circle cx="{}" cy="{}" r="{}"/>', [(x, y, 2) for x, y in points]),
    )


def _height_of(score: float) -> float:
    """The place of a score in a line, from the top."""
    return round(HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * min(1.0, max(0.0, score)), 1)


@register.filter
def tier_word(job: Job) -> str:
    """The tier of a row as a word."""
    return reading.standing_of(job).word.lower()


@register.simple_tag
def score_interval(score: Score, low: float, high: float, colour: int) -> SafeString:
    """The interval of a score on the scale from `low` to `high`, or why there is none."""
    if score.low is None or score.high is None:
        return format_html(
            '<small class="muted" title="{}">no interval<span class="sr">: {}</span></small>',
            score.reason,
            score.reason,
        )
    return pictures.interval(score.mean, score.low, score.high, low, high, colour)


_VERDICTS = {"ahead": ("+", "ahead of"), "tie": ("=", "too close to call with"), "behind": ("−", "behind")}
"""What a cell of the table of who is ahead shows, and what it says to whoever does not see it."""


@register.simple_tag
def compared(row: Row, other: Row, verdict: str, address: str) -> SafeString:
    """A cell of the table of who is ahead, with a link to the comparison of two rows at `address`."""
    if verdict not in _VERDICTS:
        return SafeString('<span class="sr">itself</span>' if verdict else "")
    sign, words = _VERDICTS[verdict]
    return format_html(
        '<a href="{}?job={}&amp;job={}" aria-label="{} {}">{}</a>',
        *(address, row.score.job_id, other.score.job_id, words, other.score.agent.name, sign),
    )


@register.filter
def reference_interval(reference: Reference | None) -> str:
    """The interval of what was measured of the random agent or an anchor, or why it has none; empty where nothing was
    measured."""
    if reference is None or not reference.n:
        return ""
    if reference.low == reference.high:  # so the file writes that equal returns say nothing of their spread
        return f"no interval: all {reference.n:,} returns are equal"
    return f"95 % interval {reference.low:.3f} to {reference.high:.3f}, n {reference.n}".replace("-", "−")


@register.filter
def amount(value: float, what: str) -> str:
    """Tokens, turns or money per episode."""
    return f"{value:,.6f}".rstrip("0").rstrip(".") if what == "money" else f"{value:,.0f}"


@register.filter
def per_thousand(money: float) -> str:
    """What a thousand episodes cost, from the cost of one."""
    amount = 1000 * money
    return f"{amount:,.2f}" if amount >= 0.01 else "< 0.01"


@register.filter
def env_name(env_id: str) -> str:
    """The id of an environment without its family and version, as narrow tables name it."""
    name = env_id.partition(":")[2] or env_id
    return name.replace("-v0", "")


@register.filter
def season_share(season: Season) -> int:
    """How much of a season has passed, from 0 to 1000."""
    whole = (season.ends - season.begins).total_seconds()
    passed = (timezone.now() - season.begins).total_seconds()
    return round(1000 * min(1.0, max(0.0, passed / whole))) if whole > 0 else 1000
