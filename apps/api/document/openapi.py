"""The OpenAPI document: what holds for all operations is added to each."""

from __future__ import annotations

from typing import Any

from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation

from gem.client.events import EVENTS
from gem.client.schemas import Problem

DESCRIPTION = """\
Programs can do here what people can do on the pages, with the same permissions, limits and error messages.

Send a token as `Authorization: Bearer gw_...`. Guests may read what is public. A list has `items` and `next`, the
`cursor` of the following page. A request that changes something may carry an `Idempotency-Key`: sent again within a
day, it changes nothing and gets the same answer. Answers to reads have an `ETag` for `If-None-Match`. Errors are
`application/problem+json`.
"""
METHODS = {"get", "post", "put", "patch", "delete"}
MEDIA = "x-media-type"
"""Names the media types of an answer that is not JSON, in the `openapi_extra` of an operation, with spaces between."""
_KEY = {
    "in": "header",
    "name": "Idempotency-Key",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 80, "pattern": "^[!-~]+$"},
    "description": "Sent again within a day, a request with this key changes nothing and gets the same answer.",
}
_ERROR = {
    "description": "An error",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}


class Document(OpenAPISchema):
    """The OpenAPI document of the API."""

    def operation_details(self, operation: Operation) -> dict[str, Any]:
        """One operation: Ninja's description, its scope, its errors, and the headers that it reads."""
        details = super().operation_details(operation)
        details["summary"] = str(details.get("description", "")).partition(".")[0].replace("\n", " ")
        responses = details["responses"]
        if media := details.pop(MEDIA, ""):
            content = {"schema": {"type": "string", "format": "binary"}}
            responses[200]["content"] = dict.fromkeys(media.split(" "), content)
        if "GET" in operation.methods:
            responses[304] = {"description": "Not changed since the answer with this ETag"}
        else:
            details["parameters"] = [*details["parameters"], _KEY]
        responses["default"] = _ERROR
        return details

    def operation_security(self, operation: Operation) -> list[dict[str, Any]]:
        """Who may send it: guests too, or people with a token that has a scope."""
        scopes = [auth.scope.value for auth in operation.auth_callbacks if hasattr(auth, "scope")]
        return [{"Bearer": scopes}] if scopes else [{}, {"Bearer": []}]

    def get_components(self) -> dict[str, Any]:
        """The models, with that of errors."""
        problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        schemas = {**self.schemas, **problem.pop("$defs", {}), "Problem": problem, **_events()}
        return {"schemas": schemas, "securitySchemes": {"Bearer": {"type": "http", "scheme": "bearer"}}}


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
