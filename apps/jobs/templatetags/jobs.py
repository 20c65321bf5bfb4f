"""Template tags of the pages of jobs: `{% load jobs %}`."""

from __future__ import annotations

import functools
import math
from urllib.parse import quote

from django import template
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import escape
from django.utils.safestring import SafeString

from apps.jobs.analysis.seeds import SeedCell, SeedRow
from apps.jobs.estimates import Range
from apps.jobs.models import Job
from apps.jobs.results import EnvironmentResults, EpisodeCell
from gem.evaluation.comparison import words

register = template.Library()

ICONS = {"won": "check", "lost": "cross", "limit": "limit", "error": "warn"}


@register.simple_tag(name="cells")
def draw_cells(line: EnvironmentResults, *, swap: bool = False) -> SafeString:
    """The episodes of an environment in the grid of a job: `{% cells line %}`.

    A page may have 1,500, and templates would be too slow.
    """
    return SafeString("".join(_cell(cell, swap=swap) for cell in line.cells))


def _cell(cell: EpisodeCell, *, swap: bool) -> str:
    oob = ' hx-swap-oob="true"' if swap else ""
    if not cell.episode_id:  # nothing here is a text of somebody: numbers, our own words, and ids that we made
        if cell.state not in ICONS:
            return f'<span class="ep" id="e{cell.slot}" data-s="{cell.state}"{oob}></span>'
        return (
            f'<span class="ep" id="e{cell.slot}" data-s="{cell.state}" role="img" aria-label="{cell.words}"{oob}>'
            f'<svg class="icon" aria-hidden="true"><use href="{_icon(cell.state)}"/></svg></span>'
        )
    return (
        f'<a class="ep" id="e{cell.slot}" data-s="{cell.state}" href="{_address().format(cell.episode_id)}"'
        f' aria-label="{cell.words}"{oob}>'
        f'<svg class="icon" aria-hidden="true"><use href="{_icon(cell.state)}"/></svg></a>'
    )


@register.filter
def points(difference: float) -> str:
    """A difference of shares: `14.2 points`."""
    return words.amount(difference, "success")


@register.filter
def amounts(found: Range, places: int = 0) -> str:
    """A number that is not known exactly: `about 9,100`, or `8,300 to 198,000`. Large ones are rounded."""
    if found.is_narrow:
        return f"about {_rounded(found.expected, places)}"
    return f"{_rounded(found.low, places)} to {_rounded(found.high, places)}"


def _rounded(value: float, places: int) -> str:
    """The number with three digits, and the others as zeros: as many as anything is known of."""
    if value < 10**-places / 2:
        return "0"
    digits = max(2 - math.floor(math.log10(value)), -12)
    return f"{round(value, digits):,.{max(0, min(digits, places))}f}"


@register.simple_tag
def heat_cells(job: Job, row: SeedRow) -> SafeString:
    """The cells of an environment in the map of seeds: `{% heat_cells job row %}`. A page may have 1,440."""
    episodes = f"{reverse('jobs:episodes', args=[job.pk])}?env_id={quote(row.env_id)}"
    return SafeString("".join(_heat_cell(cell, row.env_id, episodes) for cell in row.cells))


def _heat_cell(cell: SeedCell | None, env_id: str, episodes: str) -> str:
    if cell is None:
        return '<td class="heat" data-s="none"><span class="sr">not played</span></td>'
    address = _address().format(cell.episode_id) if cell.episode_id else f"{episodes}&amp;seed={cell.seed}"
    shown = "!" if cell.level == "error" else cell.solved  # numbers, our own words, and an id of the registry
    name = f"{shown}: {escape(env_id)}, {cell.words}"  # begins with what is seen, for those who speak to the page
    return (
        f'<td class="heat" data-s="{cell.level}"><a href="{address}" aria-label="{name}"'
        f' title="{cell.words}">{shown}</a></td>'
    )


@functools.cache
def _address() -> str:
    """The address of an episode, with braces for its id, which holds letters and digits only."""
    return reverse("episodes:episode", args=["0"]).replace("0", "{}")


@functools.cache
def _icon(state: str) -> str:
    return f"{static('icons.svg')}#{ICONS[state]}"
