"""Template tags for the pages of people who play: `{% load play %}`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from apps.accounts import visitors
from apps.episodes.models import Episode, Seat
from apps.episodes.snapshot import Snapshot
from apps.episodes.tools.passages import marked
from apps.episodes.visibility import own_seat
from apps.play.bench.controls import bench_of
from apps.play.models import OpenInvitation
from apps.play.people import invitations
from apps.play.people.rematches import next_game
from apps.play.starting import once
from gem.views.forms import FormField

register = template.Library()
register.simple_tag(bench_of)
register.filter(marked)
register.filter(next_game)


@register.simple_tag(takes_context=True)
def form_key(context: Mapping[str, Any]) -> SafeString:
    """The hidden field by which a form that is sent twice begins what it asks for once.

    In a part that all readers of a page receive, it is empty: a key is one reader's, and their browser draws it.
    """
    key = once.new_key() if context.get("csrf_token") else ""
    return format_html('<input type="hidden" name="{}" value="{}">', once.FIELD, key)


@register.simple_tag(takes_context=True)
def plays(context: Mapping[str, Any], episode: Episode) -> bool:
    """Whether the reader has a seat of the episode: on a page of theirs (`own`), or by who asks for the page."""
    request = context.get("request")
    if context.get("own") or request is None:
        return bool(context.get("own"))
    return own_seat(episode, request.user, visitors.known(request)) is not None


@register.filter
def is_open(shot: Snapshot) -> bool:
    """Whether the free seat of an episode stands in the lobby."""
    return OpenInvitation.objects.filter(pk=shot.episode.pk).exists()


@register.filter
def limits_in_words(field: FormField) -> str:
    """The type and the limits of an argument: `integer, at least 0, optional`."""
    parts = [f"one of {len(field['choices'])}" if field["type"] == "choice" else field["type"]]
    parts += [f"{word} {field[bound]:g}" for bound, word in _LIMITS.items() if bound in field]  # type: ignore[literal-required]
    return ", ".join(parts if field["required"] else [*parts, "optional"])


_LIMITS = {"minimum": "at least", "maximum": "at most"}


@register.filter
def with_code(text: str) -> SafeString:
    """A sentence in which what stands between backticks is code."""
    parts = enumerate(text.split("`"))
    return format_html_join(
        "", "{}", ((format_html("<code>{}</code>", part) if at % 2 else part,) for at, part in parts)
    )


@register.filter
def as_json(value: Any) -> str:
    """A value as JSON, for a script that writes it into an action."""
    return json.dumps(value, ensure_ascii=False)


@register.simple_tag
def seat_link(seat: Seat) -> str:
    """The path of the link to a free seat: `{% seat_link shot.free as link %}`."""
    return invitations.address(seat)
