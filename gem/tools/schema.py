"""Functions as OpenAI's interface describes them, read from Python functions, and calls checked against that."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypedDict, Union, get_args, get_origin, get_type_hints

from gem.errors import ToolError
from gem.validation.near import did_you_mean

Schema = dict[str, Any]

_TYPES: Mapping[Any, str] = {
    str: "string",
    int: "integer",
    float: "number",
    bool: "boolean",
    list: "array",
    dict: "object",
}
_WORDS = {"string": "a text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
_WORDS |= {"array": "a list", "object": "an object"}


class _Described(TypedDict):
    name: str
    description: str
    parameters: Schema


class Function(TypedDict):
    """A function that an agent may call, in the form of OpenAI's `tools`."""

    type: Literal["function"]
    function: _Described


def function_of(name: str, description: str, function: Callable[..., Any]) -> Function:
    """The description of a Python function, whose parameters are annotated.

    `Annotated[str, "what it is"]` describes a parameter; one with a default may be left out.
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
    return Function(type="function", function=_Described(name=name, description=description, parameters=parameters))


def _schema_of(hint: Any) -> Schema:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return {**_schema_of(arguments[0]), "description": str(arguments[1])}
    if origin is Literal:
        return {"type": _TYPES.get(type(arguments[0]), "string"), "enum": list(arguments)}
    if origin in (Union, types.UnionType):
        return _schema_of(next(one for one in arguments if one is not type(None)))
    if origin is list:
        return {"type": "array", "items": _schema_of(arguments[0])}
    return {"type": _TYPES.get(origin or hint, "string")}


def form_of(function: Function) -> str:
    """How the arguments are written as one text: the name of the first, or a JSON object where several are needed."""
    described = function["function"]["parameters"]
    required: list[str] = described["required"]
    if len(required) > 1:
        return "{" + ", ".join(f'"{name}": ...' for name in required) + "}"
    return next(iter(described["properties"]), "")


def arguments_in(function: Function, text: str) -> tuple[dict[str, Any], str]:
    """The arguments in a text of the form that `form_of` names, and what is wrong with it (empty if nothing is).

    A text for an argument that is none, such as a number, is read as JSON.
    """
    described = function["function"]
    properties: dict[str, Schema] = described["parameters"]["properties"]
    several = len(described["parameters"]["required"]) > 1
    name = next(iter(properties), "")
    if not several and (not name or properties[name].get("type") == "string"):
        return ({name: text} if name else {}), ""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        given = text
    if not several:
        return {name: given}, ""
    if isinstance(given, dict):
        return given, ""
    return {}, f"{described['name']} takes its arguments as a JSON object: {form_of(function)}"


def check_call(function: Function, arguments: Mapping[str, Any]) -> None:
    """Refuse arguments that the function does not take.

    Raises:
        ToolError: with a sentence for the agent.
    """
    described = function["function"]
    properties: dict[str, Schema] = described["parameters"].get("properties", {})
    for name, value in arguments.items():
        if name not in properties:
            hint = did_you_mean(name, properties, f"It takes {' and '.join(properties) or 'none'}.")
            raise ToolError(f"{described['name']} has no argument {name!r}. {hint}")
        _check_value(described["name"], name, value, properties[name])
    missing = [name for name in described["parameters"].get("required", ()) if name not in arguments]
    if missing:
        raise ToolError(f"{described['name']} needs the argument {missing[0]!r}.")


def _check_value(function: str, name: str, value: Any, schema: Schema) -> None:
    wanted = schema.get("type")
    fits = {
        "string": isinstance(value, str),
        "integer": isinstance(value, int) and not isinstance(value, bool),
        "number": isinstance(value, int | float) and not isinstance(value, bool),
        "boolean": isinstance(value, bool),
        "array": isinstance(value, list),
        "object": isinstance(value, dict),
    }
    if isinstance(wanted, str) and not fits.get(wanted, True):
        raise ToolError(f"The argument {name!r} of {function} is {_WORDS[wanted]}, not {value!r:.80}.")
    if "enum" in schema and value not in schema["enum"]:
        raise ToolError(f"The argument {name!r} of {function} is one of {schema['enum']}, not {value!r:.80}.")
