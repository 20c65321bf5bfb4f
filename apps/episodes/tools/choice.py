"""The part of a form that adds tools to an environment, for evaluating, playing and watching."""

from __future__ import annotations

from typing import Any

from django import forms

from gem.errors import UsageError
from gem.registry import DEFAULT_MAX_TOOL_USES
from gem.tools import tool_catalog

MAX_NAME_LENGTH = 120
FIELDS = ("tool", "max_tool_uses", "tool_format")


class ToolsField(forms.MultipleChoiceField):
    """Short names of tools. The engine checks which of them can be used here."""

    def valid_value(self, value: Any) -> bool:
        """Accept any name of reasonable length; `clean` checks it."""
        return len(str(value)) <= MAX_NAME_LENGTH

    def clean(self, value: Any) -> list[str]:
        """The names, if each tool can be used here and all of them can be combined."""
        names: list[str] = super().clean(value)
        try:
            tool_catalog.check_usable(names)
            if names:
                tool_catalog.wrapper(names)
        except UsageError as error:
            raise forms.ValidationError(str(error)) from error
        return names


class ToolChoice(forms.Form):
    """Which tools are added, how often they may be used, and how they are called."""

    tool = ToolsField(required=False, label="Tools")
    max_tool_uses = forms.IntegerField(
        label="Uses per episode",
        required=False,
        initial=DEFAULT_MAX_TOOL_USES,
        min_value=1,
        max_value=tool_catalog.MAX_USES,
        widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off", "maxlength": 4}),
        error_messages={
            "invalid": "The number of uses is a whole number, for example 10.",
            "min_value": "The number of uses is at least 1.",
            "max_value": f"The number of uses is at most {tool_catalog.MAX_USES} per episode.",
        },
    )
    tool_format = forms.ChoiceField(
        label="Call format",
        choices=[*tool_catalog.FORMATS.items()],
        required=False,
        initial="tags",
        error_messages={"invalid_choice": "Tools are called by tags or by function calls."},
    )

    def clean_max_tool_uses(self) -> int:
        """The budget; the default if none was given."""
        return int(self.cleaned_data["max_tool_uses"] or DEFAULT_MAX_TOOL_USES)

    def clean_tool_format(self) -> str:
        """The call format; tags if none was chosen."""
        return str(self.cleaned_data["tool_format"] or "tags")

    @property
    def offered(self) -> list[tuple[tool_catalog.Offer, bool]]:
        """Every tool and whether it is chosen."""
        chosen = self["tool"].value() or []
        return [(offer, offer.name in chosen) for offer in tool_catalog.offers()]

    @property
    def tool_wrappers(self) -> list[dict[str, Any]]:
        """After validation, the wrapper that adds the chosen tools; empty without tools."""
        values = self.cleaned_data
        if not values["tool"]:
            return []
        return [tool_catalog.wrapper(values["tool"], values["max_tool_uses"], values["tool_format"])]
