"""Forms for people who use tools: what a tool asks for, and the text of the action that its form stands for.

An environment with tools of its own has a method `tool_forms() -> list[ToolForm]`; those of `gem.tools` come from their
schemas (`gem.tools.forms`). A page draws the form and writes the action: `before`, the values in the form's style, and
`after`.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict

FieldType = Literal["string", "integer", "number", "boolean", "choice", "json"]
Control = Literal["code", "search", "form", "answer"]
Style = Literal["text", "json", "pairs"]


class FormField(TypedDict):
    """One argument of a tool."""

    name: str
    type: FieldType
    """`choice` is one of `choices`; `json` is typed as JSON."""
    required: bool
    description: NotRequired[str]
    choices: NotRequired[list[Any]]
    suggestions: NotRequired[list[str]]
    """Values that are known and may fit."""
    default: NotRequired[Any]
    minimum: NotRequired[float]
    maximum: NotRequired[float]


class ToolForm(TypedDict):
    """The form of one tool."""

    name: str
    """The tool or function, as agents call it."""
    control: Control
    """What a person sees: a code editor, a search box, a field for each argument, or a box for an answer."""
    description: str
    fields: list[FormField]
    style: Style
    """How the values are written: the only value as it is, a JSON object, or ` name=value` for each that is given."""
    before: str
    after: str
