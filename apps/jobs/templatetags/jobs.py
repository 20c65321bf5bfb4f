"""Template tags of the pages of jobs: `{% load jobs %}`."""

from __future__ import annotations

from django import template
from django.templatetags.static import static
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from apps.jobs.results import EpisodeCell

register = template.Library()

ICONS = {"won": "check", "lost": "cross", "limit": "limit", "error": "warn"}


@register.simple_tag(name="cell")
def draw_cell(cell: EpisodeCell, *, swap: bool = False) -> SafeString:
    """An episode in the grid of a job: `{% cell cell %}`. A page may have 1,500, and templates would be too slow."""
    oob = mark_safe(' hx-swap-oob="true"') if swap else ""
    if not cell.episode_id:
        return format_html('<span class="ep" id="e{}" data-s="{}"{}></span>', cell.slot, cell.state, oob)
    return format_html(
        '<a class="ep" id="e{}" data-s="{}" href="{}" aria-label="{}"{}>'
        '<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg></a>',
        cell.slot,
        cell.state,
        reverse("episodes:episode", args=[cell.episode_id]),
        cell.words,
        oob,
        static("icons.svg"),
        ICONS[cell.state],
    )
