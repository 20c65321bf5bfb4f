"""The API: its routers, its errors, and its OpenAPI document."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe
from ninja import NinjaAPI, Status
from ninja.errors import ValidationErrorContext
from ninja.openapi.schema import OpenAPISchema
from ninja.parser import Parser
from pydantic import BaseModel

from apps.api import routers
from apps.api.document import openapi
from apps.api.idempotency import idempotent
from apps.api.parameters import strict_query
from apps.api.problems import Invalid, problem_of
from apps.episodes.errors import Refusal
from apps.spec_forms import read_json
from gem import __version__
from gem.validation.messages import field_errors


class NotJson(Refusal):
    """The body of a request cannot be read."""

    status = 400
    title = "The body is not JSON"


class StorableJson(Parser):
    """Reads JSON that can be stored: not nested too deeply, without NUL, and with finite numbers."""

    def parse_body(self, request: HttpRequest) -> Any:
        """The value of the body.

        Raises:
            NotJson: if it is no such JSON.
        """
        try:
            return read_json(request.body.decode())
        except ValueError as error:
            raise NotJson(f"The body of this request is not JSON: {error}. Nothing was changed.") from error


class Api(NinjaAPI):
    """Ninja's API with our sentences about errors and our OpenAPI document."""

    def on_exception(self, request: HttpRequest, exc: Any) -> HttpResponse:
        """Answer a request that raised an error. An error of the site itself is raised again."""
        return problem_of(request, exc)

    def validation_error_from_error_contexts(self, error_contexts: list[ValidationErrorContext[Any]]) -> Any:
        """All invalid fields of a request, each with a sentence."""
        errors: list[tuple[str, str]] = []
        for context in error_contexts:
            error, model = context.pydantic_validation_error, context.model  # the class, not one of it
            errors += field_errors(error, model, {"": "The body"}, holder="sent")
        return Invalid(errors)

    def get_openapi_schema(self, *, path_prefix: str | None = None, path_params: Any = None) -> OpenAPISchema:
        """The OpenAPI document, which is built once in a process."""
        return _document()

    def get_openapi_operation_id(self, operation: Any) -> str:
        """The name of an operation, which is that of its address too."""
        return str(operation.view_func.__name__)


def written_at_once(view: Callable[..., Any]) -> Callable[..., Any]:
    """Let Pydantic write the answers, which are its models already. Ninja would copy them into dictionaries first."""

    if inspect.iscoroutinefunction(view) or inspect.isasyncgenfunction(view):
        return view  # streams write their own answers

    @functools.wraps(view)
    def answer(request: HttpRequest, *arguments: Any, **parameters: Any) -> Any:
        result = view(request, *arguments, **parameters)
        status, value = (result.status_code, result.value) if isinstance(result, Status) else (200, result)
        if not isinstance(value, BaseModel):
            return result
        return HttpResponse(value.model_dump_json(), status=status, content_type="application/json")

    return answer


api = Api(
    title="gemweb",
    version=__version__,
    description=openapi.DESCRIPTION,
    urls_namespace="api",
    docs_url=None,
    docs_decorator=require_safe,
    parser=StorableJson(),
)
api.add_decorator(strict_query, mode="view")
api.add_decorator(idempotent, mode="view")
api.add_decorator(written_at_once, mode="operation")
for prefix, router in routers.ROUTERS:
    api.add_router(prefix, router)


@cache
def _document() -> openapi.Document:
    return openapi.Document(api, api.get_root_path({}))
