"""The tools of an environment as forms for people, so that nobody types tags or JSON.

for form in tool_forms(env, info):
    print(form["before"], [field["name"] for field in form["fields"]], form["after"])

Schemas of servers are not trusted: what is missing or of another type than it should be is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Literal, cast

from gem.core import Env, EnvWrapper
from gem.tools.schema import FunctionSchema, argument_forms
from gem.tools.tags import find_tagged
from gem.tools.tool import is_opaque
from gem.tools.tool_env_wrapper import ToolEnvWrapper
from gem.views.forms import Control, FieldType, FormField, Style, ToolForm

MAX_FORMS = 100
MAX_FIELDS = 40
MAX_CHOICES = 200
MAX_TEXT = 1000
_TYPES = ("string", "integer", "number", "boolean")
_CONTROLS: Mapping[str, tuple[Control, str]] = {"python": ("code", "code"), "search": ("search", "query")}
"""Tools with a control of their own, with the name of the argument that it fills."""


def tool_forms(env: Env, info: Mapping[str, Any]) -> list[ToolForm]:
    """The forms of all tools that an agent may use now, in the order in which they are described.

    Args:
        info: the info of the reset. The functions of servers are read from it, so no server is asked.
    """
    own = getattr(env.unwrapped, "tool_forms", None)
    forms: list[ToolForm] = list(own()) if own is not None else []
    wrapper = _find_wrapper(env)
    if wrapper is not None and wrapper.tool_uses_left != 0:
        forms += list(_forms_of(wrapper, info))[:MAX_FORMS]
    return forms


def answer_form(env: Env, info: Mapping[str, Any]) -> ToolForm | None:
    """The form of the answer to a problem; None if the environment asks for something else than an answer.

    Args:
        info: the info of the last turn, whose suffix says how the answer is written.
    """
    suffix, pattern = str(info.get("suffix", "")), getattr(env.unwrapped, "pattern", None)
    if env.view()["kind"] not in ("text", "image"):
        return None
    for opening, closing in (("<answer>", "</answer>"), ("\\boxed{", "}")):
        if opening in suffix and (pattern is None or pattern.search(f"{opening}1{closing}")):
            field = FormField(name="answer", type="string", required=True)
            return ToolForm(
                name="answer", control="answer", description="", fields=[field], style="text", before=opening,
                after=closing,
            )  # fmt: skip
    return None


def _find_wrapper(env: Env) -> ToolEnvWrapper | None:
    layer = env
    while isinstance(layer, EnvWrapper):
        if isinstance(layer, ToolEnvWrapper):
            return layer
        layer = layer.env
    return None


def _forms_of(wrapper: ToolEnvWrapper, info: Mapping[str, Any]) -> Iterator[ToolForm]:
    recorded = _schemas_in(str(info.get("tool_instructions", "")))
    if wrapper.format == "native":
        for schema in recorded or wrapper.tool_schemas:
            name = str(schema["function"]["name"])
            before = f'<tool_call>{{"name": {json.dumps(name)}, "arguments": '
            yield _form(schema, "json", before, "}</tool_call>")
        return
    for tool in wrapper.tools:
        if is_opaque(tool):
            continue
        for schema in recorded if tool.has_external_instructions else tool.functions():
            before, after = tool.tag_marks(str(schema["function"]["name"]))
            is_object = tool.has_external_instructions or any(form[0] == "{" for form in argument_forms(schema))
            yield _form(schema, "json" if is_object else "text", before, after)


def _schemas_in(instructions: str) -> list[FunctionSchema]:
    """The functions in the instructions of an episode, one a line as JSON; what cannot be read is left out."""
    block = find_tagged(instructions, "<tools>", "</tools>")
    schemas = []
    for line in block.text.splitlines() if block else ():
        try:
            schema = json.loads(line)
            if isinstance(schema["function"]["name"], str):
                schemas.append(cast("FunctionSchema", schema))
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return schemas


def _form(schema: FunctionSchema, style: Style, before: str, after: str) -> ToolForm:
    function: Mapping[str, Any] = schema["function"]
    parameters = _mapping(function.get("parameters"))
    properties = _mapping(parameters.get("properties"))
    required = parameters.get("required")
    names = required if isinstance(required, list) else []
    fields = [_field(str(name), _mapping(value), name in names) for name, value in properties.items()][:MAX_FIELDS]
    control: Control
    control, filled = _CONTROLS.get(function["name"], ("form", ""))
    own = [field for field in fields if field["name"] == filled and field["type"] == "string"]
    if own and not any(field["required"] for field in fields if field["name"] != filled):
        fields = own
    else:
        control = "form"
        fields = fields[:1] if style == "text" else fields
    return ToolForm(
        name=function["name"],
        control=control,
        description=_text(function.get("description")),
        fields=fields,
        style=style,
        before=before,
        after=after,
    )


def _field(name: str, schema: Mapping[str, Any], is_required: bool) -> FormField:
    kind = schema.get("type")
    field = FormField(name=name, type=cast("FieldType", kind if kind in _TYPES else "json"), required=is_required)
    if description := _text(schema.get("description")):
        field["description"] = description
    choices = schema.get("enum")
    if isinstance(choices, list) and choices:
        field["type"], field["choices"] = "choice", choices[:MAX_CHOICES]
    if "default" in schema:
        field["default"] = schema["default"]
    bounds: tuple[Literal["minimum", "maximum"], ...] = ("minimum", "maximum")
    for bound in bounds:
        value = schema.get(bound)
        if isinstance(value, int | float) and not isinstance(value, bool):
            field[bound] = value
    return field


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value[:MAX_TEXT] if isinstance(value, str) else ""
