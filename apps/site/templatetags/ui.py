"""Template tags and filters that every template can use without `{% load %}`."""

import math
import re
from collections.abc import Mapping
from typing import Any, Protocol

from django import template
from django.forms import BoundField
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from apps.seasons import numbers
from apps.site import mathematics
from apps.visibility import Visibility
from gem.evaluation.scores import Interval

register = template.Library()

MINUS = "\u2212"
_NEGATIVE = re.compile(r"(?<![\w.])-(?=\d)")


class Stone(Protocol):
    """The attributes of an agent that its mark shows."""

    name: str
    kind: str
    colour: int
    cut: str


@register.filter
def seed_in_words(seed: int) -> str:
    """A seed as pages name it, also while it is hidden: `{{ episode.seed|seed_in_words }}`."""
    return numbers.in_words(seed)


# ---------------------------------------------------------------- pictures


@register.simple_tag
def icon(name: str) -> SafeString:
    """A decorative icon from the sprite: `{% icon "play" %}`."""
    return format_html('<svg class="icon" aria-hidden="true"><use href="{}#{}"/></svg>', static("icons.svg"), name)


@register.simple_tag
def piece(name: str) -> SafeString:
    """A piece on a board: `{% piece "flag" %}` (player, box, target, flag, mine)."""
    return format_html('<svg aria-hidden="true"><use href="{}#p-{}"/></svg>', static("icons.svg"), name)


@register.simple_tag
def gem() -> SafeString:
    """The logo of gemweb."""
    return format_html('<svg class="gem" aria-hidden="true"><use href="{}#gem"/></svg>', static("icons.svg"))


@register.simple_tag
def cut(agent: Stone, size: str = "") -> SafeString:
    """The stone of an agent: its shape stands for the kind, its colour for the agent. Show the name next to it."""
    return format_html(
        '<svg class="cut" data-c="{}"{} role="img" aria-label="{}"><use href="{}#{}"/></svg>',
        agent.colour,
        format_html(' data-size="{}"', size) if size else "",
        agent.kind,
        static("icons.svg"),
        agent.cut,
    )


@register.simple_tag
def agent_mark(agent: Stone, note: str = "") -> SafeString:
    """An agent's stone and name: `{% agent_mark agent %}`, with a quiet note after the name if given."""
    small = format_html(" <small>{}</small>", note) if note else ""
    return format_html('<span class="agent">{}<span>{}{}</span></span>', cut(agent), agent.name, small)


@register.inclusion_tag("components/visibility.html")
def visibility_menu(current: str, action: str, is_owner: bool) -> dict[str, Any]:
    """Who may see an object; its owner can change it: `{% visibility_menu job.visibility address is_mine %}`."""
    return {"current": Visibility(current), "action": action, "choices": list(Visibility) if is_owner else []}


@register.inclusion_tag("components/interval.html")
def interval(
    mean: float, low: float, high: float, start: float = 0.0, end: float = 1.0, colour: int = 8
) -> dict[str, Any]:
    """A mean and its interval drawn on a scale from `start` to `end`: `{% interval mean low high 0 1 agent.colour %}`.

    Values beyond the scale are drawn at its ends; the label shows the exact numbers.
    """

    def at(value: float) -> str:
        return place((value - start) / (end - start) if end > start else 0.5)

    zero = at(0.0) if start < 0.0 < end else ""
    label = f"{number(mean, 2)}, 95 % interval {number(low, 2)} to {number(high, 2)}"
    return {"mean": at(mean), "low": at(low), "high": at(high), "zero": zero, "label": label, "colour": colour}


# ---------------------------------------------------------------- numbers


@register.filter
def number(value: float | None, places: int = 3) -> str:
    """A number with a real minus sign and at most `places` digits after the point; a dash for None."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{abs(value):,.{places}f}"
    is_zero = float(text.replace(",", "")) == 0
    return f"{MINUS if value < 0 and not is_zero else ''}{text}"


@register.filter
def signed(value: float | None, places: int = 3) -> str:
    """A reward: `+1`, `−0.1`, `0`, without trailing zeros."""
    if value is None or not math.isfinite(value):
        return "–"
    text = f"{abs(value):,.{places}f}".rstrip("0").rstrip(".") if places else f"{abs(value):,.0f}"
    if float(text.replace(",", "")) == 0:
        return "0"
    return f"{MINUS if value < 0 else '+'}{text}"


@register.filter
def sign(value: float | None) -> str:
    """The sign of a reward, `+`, `-` or empty, for the attribute `data-sign` that colours a reward."""
    if not value:
        return ""
    return "+" if value > 0 else "-"


@register.filter
def place(share: float) -> str:
    """The position of a share (0 to 1) on an axis, as a CSS percentage: `12.5%`."""
    return f"{100 * min(1.0, max(0.0, share)):.1f}%"


@register.filter
def percent(share: float | None, places: int = 1) -> str:
    """A share as a percentage, with a real minus sign: `54.0 %`."""
    return "–" if share is None else f"{number(100 * share, places)} %"


@register.filter
def spread(share: Interval) -> str:
    """A share and its interval in words: `54.0 %, 95 % interval 47.3 % to 60.5 %`."""
    return f"{percent(share.mean)}, 95 % interval {percent(share.low)} to {percent(share.high)}"


@register.filter
def seconds(value: float | None) -> str:
    """A duration in words: `0.4 s`, `12 s`, `1 min 12 s`, `2 h 5 min`."""
    if value is None or not math.isfinite(value):
        return "–"
    if value < 10:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


# ---------------------------------------------------------------- text


@register.filter
def prose(text: str) -> SafeString:
    """Prose as HTML: text in backquotes becomes code, and a hyphen before a digit becomes a minus sign."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an unmatched backquote
        parts = [text]
    return format_html_join(
        "",
        "{}",
        (
            (format_html("<code>{}</code>", part) if index % 2 else _NEGATIVE.sub(MINUS, part),)
            for index, part in enumerate(parts)
        ),
    )


@register.filter
def typeset(text: str | None) -> SafeString:
    """The text with its formulas as MathML; empty if it has none."""
    return mathematics.typeset(text or "")


@register.filter
def answer(action: str) -> SafeString:
    r"""The answer in the last `\boxed{}` of an action as MathML; empty if it is not a formula."""
    return mathematics.answer(action)


# ---------------------------------------------------------------- forms


@register.inclusion_tag("components/field.html")
def field(bound: BoundField, hint: str = "", **attributes: str) -> dict[str, Any]:
    """A labelled field with its hint and errors: `{% field form.seed inputmode="numeric" %}`.

    Underscores in attribute names become hyphens. `hint` replaces the field's help text.
    """
    attrs: dict[str, Any] = {name.replace("_", "-"): value for name, value in attributes.items()}
    attrs["class"] = f"input {attrs.pop('class', '')}".strip()
    help_text = hint or bound.help_text
    if hint and not bound.help_text:
        attrs["aria-describedby"] = f"{bound.auto_id}_helptext"
        if bound.errors:
            attrs["aria-describedby"] += f" {bound.auto_id}_error"
    return {"bound": bound, "widget": bound.as_widget(attrs=attrs), "help_text": help_text}


@register.filter
def get(mapping: Mapping[Any, Any], key: Any) -> Any:
    """The value of a mapping for a key in a variable; None if the mapping has no such key."""
    return mapping.get(key)
