"""Template tags and filters that every template can use without `{% load %}`."""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from django import template
from django.contrib.humanize.templatetags.humanize import naturaltime
from django.forms import BoundField
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from apps import pictures
from apps.pictures import MINUS, NO_BREAK, number, place
from apps.seasons import numbers
from apps.site import mathematics
from apps.visibility import Visibility
from gem import registry
from gem.evaluation.scores import Interval

register = template.Library()

_BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|points?|min|ms|[sh])(?!\w))")
_NEGATIVE = re.compile(r"(?<![\w.])-(?=\d)")


@register.filter
def seed_in_words(seed: int) -> str:
    """A seed as pages name it, also while it is hidden: `{{ episode.seed|seed_in_words }}`."""
    return numbers.in_words(seed)


# ---------------------------------------------------------------- pictures


register.simple_tag(pictures.icon)
register.simple_tag(pictures.piece)
register.simple_tag(pictures.gem)
register.simple_tag(pictures.cut)
register.simple_tag(pictures.agent_mark)
register.simple_tag(pictures.interval)


@register.inclusion_tag("components/visibility.html")
def visibility_menu(current: str, action: str, is_owner: bool) -> dict[str, Any]:
    """Who may see an object; its owner can change it: `{% visibility_menu job.visibility address is_mine %}`."""
    return {"current": Visibility(current), "action": action, "choices": list(Visibility) if is_owner else []}


@register.inclusion_tag("components/gone.html")
def gone(env_ids: Iterable[str]) -> dict[str, Any]:
    """A sentence about those of the environments that are gone; nothing if none is: `{% gone spec.env_ids %}`."""
    return {"env_ids": registry.unregistered(env_ids)}


# ---------------------------------------------------------------- numbers


register.filter(number)
register.filter(place)


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
def percent(share: float | None, places: int = 1) -> str:
    """A share as a percentage, with a real minus sign, on one line: `54.0 %`."""
    return "–" if share is None else f"{number(100 * share, places)}{NO_BREAK}%"


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
        return f"{value:.1f}{NO_BREAK}s"
    whole = round(value)
    if whole < 60:
        return f"{whole}{NO_BREAK}s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}{NO_BREAK}min {rest}{NO_BREAK}s" if rest else f"{minutes}{NO_BREAK}min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}{NO_BREAK}h {minutes}{NO_BREAK}min" if minutes else f"{hours}{NO_BREAK}h"


@register.simple_tag
def ago(moment: datetime | None) -> SafeString:
    """How long ago something was, with its time in UTC: `{% ago episode.created %}`; a dash if it is not known."""
    if moment is None:
        return SafeString("–")
    in_utc = moment.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        in_utc.isoformat(),
        in_utc.strftime("%Y-%m-%d %H:%M:%S"),
        naturaltime(moment),
    )


# ---------------------------------------------------------------- text


@register.filter(is_safe=True)
def unbroken(sentence: str) -> str:
    """A sentence in which each number stays on one line with its unit: `{{ pair.sentence|unbroken }}`."""
    return _BEFORE_UNIT.sub(NO_BREAK, sentence)


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
