"""What the OpenAPI document says besides the operations: errors, headers, and how to authenticate."""

from __future__ import annotations

from typing import Any, TypeVar

from gem.client.events import EVENTS
from gem.client.schemas import Problem

DESCRIPTION = """\
Everything that a person can do on the pages, a program can do here, with the same rights, limits and sentences.

Send a token as `Authorization: Bearer gw_...`. Guests may read what is public. A list has `items` and `next`, the
`cursor` of the following page. A request that changes something may carry an `Idempotency-Key`: sent again within a
day, it changes nothing and gets the same answer. Answers to reads have an `ETag` for `If-None-Match`. Errors are
`application/problem+json`.
"""
METHODS = {"get", "post", "put", "patch", "delete"}
KEY = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 80, "pattern": "^[!-~]+$"},
    "description": "Sent again within a day, a request with this key changes nothing and gets the same answer.",
}
Document = TypeVar("Document", bound=dict[str, Any])


def completed(document: Document) -> Document:
    """Add to the document what holds for all operations."""
    components = document["components"]
    components["schemas"] |= _problem() | _events()
    components.setdefault("securitySchemes", {})["Bearer"] = {"type": "http", "scheme": "bearer"}
    for operations in document["paths"].values():
        for method, operation in operations.items():
            if method in METHODS:
                _complete(method, operation)
    return document


def _complete(method: str, operation: dict[str, Any]) -> None:
    schema = {"$ref": "#/components/schemas/Problem"}
    operation["responses"]["default"] = {
        "description": "An error",
        "content": {"application/problem+json": {"schema": schema}},
    }
    operation.setdefault("security", [{}, {"Bearer": []}])
    if method == "get":
        operation["responses"]["304"] = {"description": "Not changed since the answer with this ETag"}
    else:
        operation["parameters"] = [*operation["parameters"], KEY]


def event_stream(kind: str) -> dict[str, Any]:
    """What the document says of an operation that streams the events of this kind of row."""
    models = [model for name, model in EVENTS.items() if name.startswith(f"{kind}.")]
    references = [{"$ref": f"#/components/schemas/{model.__name__}"} for model in models]
    schema = {"oneOf": references, "discriminator": {"propertyName": "event"}}
    header = {"in": "header", "name": "Last-Event-ID", "required": False, "schema": {"type": "string"}}
    return {
        "parameters": [{**header, "description": "The id of the last event that one has."}],
        "responses": {
            200: {
                "description": "Server-Sent Events. The data of each is one of these as JSON.",
                "content": {"text/event-stream": {"schema": schema}},
            },
            204: {"description": "It is over, and there is no event after this id."},
        },
    }


def _events() -> dict[str, Any]:
    """The schemas of all events."""
    schemas: dict[str, Any] = {}
    for model in EVENTS.values():
        schema = model.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
        schemas |= {**schema.pop("$defs", {}), model.__name__: schema}
    return schemas


def _problem() -> dict[str, Any]:
    schema = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**schema.pop("$defs", {}), "Problem": schema}
