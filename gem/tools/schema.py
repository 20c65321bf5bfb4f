"""Schemas of functions in the form of OpenAI's interface: made from Python functions, and used to check calls."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypedDict, Union, get_args, get_origin, get_type_hints

from gem.errors import ToolError
from gem.validation.near import nearest

Schema = dict[str, Any]

_JSON_TYPES: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}
_TYPE_PHRASES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
"""JSON types as agents read them in error messages."""


class _FunctionFields(TypedDict):
    name: str
    description: str
    parameters: Schema


class FunctionSchema(TypedDict):
    """A function that an agent may call, in the form of OpenAI's `tools`."""

    type: Literal["function"]
    function: _FunctionFields


def describe_function(name: str, description: str, function: Callable[..., Any]) -> FunctionSchema:
    """The schema of a Python function with annotated parameters.

    `Annotated[str, "what it is"]` describes a parameter; a parameter with a default is optional.
    """
    hints = get_type_hints(function, include_extras=True)
    properties: dict[str, Schema] = {}
    required = []
    for parameter in inspect.signature(function).parameters.values():
        properties[parameter.name] = _schema_of(hints.get(parameter.name, str))
        if parameter.default is inspect.Parameter.empty:
            required.append(parameter.name)
        elif parameter.default is not None:
            properties[parameter.name]["default"] = parameter.default
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    fields = _FunctionFields(name=name, description=description, parameters=parameters)
    return FunctionSchema(type="function", function=fields)


def _schema_of(hint: Any) -> Schema:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return {**_schema_of(arguments[0]), "description": str(arguments[1])}
    if origin is Literal:
        return {"type": _JSON_TYPES.get(type(arguments[0]), "string"), "enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return _schema_of(next(argument for argument in arguments if argument is not type(None)))
    if origin is list:
        return {"type": "array", "items": _schema_of(arguments[0])}
    return {"type": _JSON_TYPES.get(origin or hint, "string")}


def argument_forms(schema: FunctionSchema) -> list[str]:
    """The forms in which the arguments are written as one text.

    The name of the first, unless several are required; and a JSON object, if there are several.
    """
    parameters = schema["function"]["parameters"]
    names = list(parameters["properties"])
    forms = names[:1] if len(parameters["required"]) <= 1 else []
    return [*forms, "{" + ", ".join(f'"{name}": ...' for name in names) + "}"] if len(names) > 1 else forms


def optional_arguments(schema: FunctionSchema) -> list[str]:
    """The names of the arguments that have a default."""
    parameters = schema["function"]["parameters"]
    return [name for name in parameters["properties"] if name not in parameters["required"]]


def parse_arguments(schema: FunctionSchema, text: str) -> tuple[dict[str, Any], str]:
    """The arguments in a text of one of the `argument_forms`, and why the text is refused (empty if it is not).

    The text for an argument that is no string, such as a number, is parsed as JSON. If the function has several
    arguments and the first can be a text or an object, only an object with names of arguments has them all.
    """
    function = schema["function"]
    properties: dict[str, Schema] = function["parameters"]["properties"]
    has_several = len(properties) > 1
    name = next(iter(properties), "")
    json_type = properties[name].get("type") if name else "string"
    if not has_several and json_type == "string":
        return ({name: text} if name else {}), ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = text
    if len(function["parameters"]["required"]) > 1:
        if isinstance(value, dict):
            return value, ""
        return {}, f"{function['name']} takes its arguments as a JSON object: {argument_forms(schema)[0]}"
    is_ambiguous = json_type in ("string", "object")
    if has_several and isinstance(value, dict) and value and (not is_ambiguous or value.keys() <= properties.keys()):
        return value, ""
    return {name: text if json_type == "string" else value}, ""


def check_call(schema: FunctionSchema, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that the function does not take.

    Raises:
        ToolError: with a sentence for the agent.
    """
    function = schema["function"]
    properties: dict[str, Schema] = function["parameters"].get("properties", {})
    for name, value in arguments.items():
        if name not in properties:
            near = nearest(name, properties) or list(properties)
            takes = f"it takes {' and '.join(near)}" if near else "it takes none"
            raise ToolError(f"{function['name']} has no argument {name!r}; {takes}.")
        _check_value(function["name"], name, value, properties[name])
    missing = [name for name in function["parameters"].get("required", ()) if name not in arguments]
    if missing:
        raise ToolError(f"{function['name']} needs the argument {missing[0]!r}.")


def _check_value(function: str, name: str, value: Any, schema: Schema) -> None:
    json_type = schema.get("type")
    matches = {
        "string": isinstance(value, str),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
    }
    if isinstance(json_type, str) and not matches.get(json_type, True):
        raise ToolError(f"The argument {name!r} of {function} is {_TYPE_PHRASES[json_type]}, not {value!r:.80}.")
    if "enum" in schema and value not in schema["enum"]:
        raise ToolError(f"The argument {name!r} of {function} is one of {schema['enum']}, not {value!r:.80}.")
