"""Query parameters: one that an address does not have is refused, because a filter that is misspelt filters nothing."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from django.http import HttpRequest
from ninja.operation import Operation

from apps.api.problems import Invalid, problem_of
from gem.validation.near import did_you_mean

Run = Callable[..., Any]


def strict_query(run: Run) -> Run:
    """Let an address of the API refuse query parameters that it does not have. Pages ignore them."""
    operation: Operation = inspect.unwrap(run).__self__  # the method of one
    names = [name for model in operation.models if model.__ninja_param_source__ == "query" for name in names_of(model)]

    @functools.wraps(run)
    def answer(request: HttpRequest, *arguments: Any, **parameters: Any) -> Any:
        unknown = [name for name in request.GET if name not in names]
        if unknown:
            return problem_of(request, Invalid((name, _sentence(name, names)) for name in unknown))
        return run(request, *arguments, **parameters)

    return answer


def names_of(model: Any) -> list[str]:
    """The parameters that a model of Ninja reads."""
    return list(model.__ninja_flatten_map__)


def _sentence(name: str, names: list[str]) -> str:
    known = did_you_mean(name, names) if names else "This address has none."
    return f"There is no parameter {name[:80]}. {known}"
