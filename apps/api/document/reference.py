"""The OpenAPI document as the reference page shows it: operations by resource, with tables of their fields."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from apps.api.document.openapi import METHODS

TITLES = {
    "account": "Account",
    "environments": "Environments",
    "agents": "Agents",
    "uploads": "Uploads",
    "episodes": "Episodes",
    "play": "Playing",
    "duels": "Duels",
    "jobs": "Jobs",
    "trainings": "Trainings",
    "leaderboard": "Benchmarks and leaderboard",
    "reports": "Reports",
    "events": "Events",
}
"""The headings of the resources, in their order. Others come last."""


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter of an address, or a field of a body or an answer."""

    name: str
    kind: str
    """Its type in words."""
    about: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one address."""

    name: str
    method: str
    path: str
    summary: str
    about: str
    """What follows the summary; empty if there is nothing."""
    scope: str
    """The scope that a token needs; empty if guests get an answer."""
    parameters: tuple[Field, ...]
    body: tuple[Field, ...]
    answer: str
    """The name of the model, or the media type."""
    answer_fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True)
class Section:
    """The operations of one resource."""

    key: str
    title: str
    operations: tuple[Operation, ...]


@cache
def sections() -> tuple[Section, ...]:
    """All operations by resource."""
    from apps.api.root import api  # noqa: PLC0415 (it imports every router, and a page about it needs no more)

    document = api.get_openapi_schema()
    schemas = document["components"]["schemas"]
    by_tag: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method, details in methods.items():
            if method in METHODS:
                by_tag.setdefault(details["tags"][0], []).append(_operation(path, method, details, schemas))
    order = [*TITLES, *(tag for tag in by_tag if tag not in TITLES)]
    return tuple(Section(tag, TITLES.get(tag, tag), tuple(by_tag[tag])) for tag in order if tag in by_tag)


def _operation(path: str, method: str, details: Mapping[str, Any], schemas: Mapping[str, Any]) -> Operation:
    answer_schema, media = _answer(details["responses"])
    description = str(details.get("description", ""))
    scopes: list[str] = next((each["Bearer"] for each in details.get("security", []) if "Bearer" in each), [])
    return Operation(
        name=details["operationId"],
        method=method.upper(),
        path=path,
        summary=details["summary"],
        about=description.removeprefix(f"{details['summary']}.").strip(),
        scope=scopes[0] if scopes else "",
        parameters=tuple(_parameters(details["parameters"], schemas)),
        body=tuple(_body(details.get("requestBody"), schemas)),
        answer=_reference(answer_schema) or media,
        answer_fields=tuple(_fields(answer_schema, schemas)),
    )


def _answer(responses: Mapping[Any, Any]) -> tuple[Mapping[str, Any], str]:
    """The schema and the media type of the first success; empty if it has no body."""
    for status, response in responses.items():
        if str(status).startswith("2"):
            for media, content in response.get("content", {}).items():
                return content["schema"], "" if media == "application/json" else media
    return {}, ""


def _parameters(parameters: list[Mapping[str, Any]], schemas: Mapping[str, Any]) -> Iterator[Field]:
    for entry in parameters:
        if entry["in"] == "query":  # those of the path are in it, and the headers are the same everywhere
            kind = _kind(entry["schema"], schemas)
            yield Field(entry["name"], kind, entry.get("description", ""), bool(entry.get("required")))


def _body(body: Mapping[str, Any] | None, schemas: Mapping[str, Any]) -> Iterator[Field]:
    for content in (body or {}).get("content", {}).values():
        yield from _fields(content["schema"], schemas)


def _fields(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[Field]:
    resolved = schemas.get(_reference(schema), schema)
    required = resolved.get("required", [])
    for name, entry in resolved.get("properties", {}).items():
        about = str(entry.get("description", "")).replace("\n", " ")
        yield Field(name, _kind(entry, schemas), about, name in required)


def _kind(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    """The type of a value in words, such as `list of Seat` or `integer or null`."""
    if name := _reference(schema):
        return name
    if "enum" in schema:
        return " | ".join(str(value) or '""' for value in schema["enum"])
    if "anyOf" in schema:
        return " or ".join(_kind(each, schemas) for each in schema["anyOf"])
    kind = str(schema.get("type", "any"))
    if kind == "array":
        return f"list of {_kind(schema.get('items', {}), schemas)}"
    if kind == "string" and schema.get("format"):
        return {"date-time": "time", "binary": "file"}.get(str(schema["format"]), str(schema["format"]))
    return {"null": "null", "object": "object", "boolean": "true | false"}.get(kind, kind)


def _reference(schema: Mapping[str, Any]) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]
