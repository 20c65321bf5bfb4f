"""Forms as HTML: Django's renderer, with menus and inputs written without templates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.forms.renderers import DjangoTemplates
from django.utils.html import conditional_escape
from django.utils.safestring import SafeString, mark_safe

MENU = "django/forms/widgets/select.html"
INPUTS = frozenset(f"django/forms/widgets/{kind}.html" for kind in ("checkbox", "hidden", "number", "text", "url"))
"""The templates of inputs, which are all the same but for their type."""


class FormRenderer(DjangoTemplates):
    """Django's renderer of forms.

    Django renders two templates for each input and for each option of a menu, which for the hundreds of environments
    takes longer than the rest of a page. Here the same HTML is written directly.
    """

    def render(self, template_name: str, context: dict[str, Any], request: Any = None) -> str:
        """The HTML of a widget or a form."""
        if template_name == MENU:
            return _menu(context["widget"])
        if template_name in INPUTS:
            return _input(context["widget"])
        return super().render(template_name, context, request)


def _input(widget: Mapping[str, Any]) -> SafeString:
    """An input of any type."""
    value = "" if widget["value"] is None else f' value="{conditional_escape(widget["value"])}"'
    name, attributes = conditional_escape(widget["name"]), _attributes(widget["attrs"])
    return mark_safe(f'<input type="{widget["type"]}" name="{name}"{value}{attributes}>')  # noqa: S308 (all escaped)


def _menu(widget: Mapping[str, Any]) -> SafeString:
    """A menu with its groups of options."""
    lines = [f'<select name="{conditional_escape(widget["name"])}"{_attributes(widget["attrs"])}>']
    for group, options, _ in widget["optgroups"]:
        if group:
            lines.append(f'  <optgroup label="{conditional_escape(group)}">')
        lines.extend(_options(options))
        if group:
            lines.append("  </optgroup>")
    lines.append("</select>")
    return mark_safe("\n".join(lines))  # noqa: S308 (every part is escaped)


def _options(options: list[dict[str, Any]]) -> Iterator[str]:
    for option in options:
        value, label = conditional_escape(option["value"]), conditional_escape(option["label"])
        yield f'  <option value="{value}"{_attributes(option["attrs"])}>{label}</option>'


def _attributes(attributes: Mapping[str, Any]) -> str:
    """Attributes with a space before each: False leaves one out, and True gives it no value."""
    return "".join(
        f" {conditional_escape(name)}" + ("" if value is True else f'="{conditional_escape(value)}"')
        for name, value in attributes.items()
        if value is not False
    )
