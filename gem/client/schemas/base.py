"""What all requests and answers share: their base classes, the names of states, and errors."""

from __future__ import annotations

import ast
import functools
import inspect
import sys
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, GetJsonSchemaHandler
from pydantic_core import CoreSchema

Visibility = Literal["public", "unlisted", "private"]
"""`public` is listed; `unlisted` is open to whoever has the address; `private` is for its owner."""
Outcome = Literal["won", "lost", "limit", "error", "running", "abandoned"]
"""How an episode ended: solved, not solved, turn limit, environment error, or that it is running or abandoned."""
JobState = Literal["queued", "running", "paused", "done", "stopped", "decided", "cancelled", "failed"]
Id = Annotated[str, Field(pattern=r"^[0-9a-hjkmnp-tv-z]{12}$")]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")]
Seed = Annotated[int, Field(ge=0, le=2**63 - 1)]


class _Message(BaseModel):
    """A model whose JSON schema describes its fields by the docstrings below them.

    They are read when a schema is asked for, which few programs do. With Pydantic's `use_attribute_docstrings` every
    program would read them at its start, and importing these models would take half as long again.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        schema = handler(core)
        for name, described in handler.resolve_ref_schema(schema).get("properties", {}).items():
            owner = next((each for each in cls.__mro__ if name in inspect.get_annotations(each)), cls)
            if words := _docstrings(owner.__module__).get((owner.__name__, name)):
                described.setdefault("description", words)
        return schema


@functools.cache
def _docstrings(module: str) -> dict[tuple[str, str], str]:
    """The docstrings below the fields of the classes of a module, by class and field."""
    return {
        (model.name, field.target.id): inspect.cleandoc(below.value.value)
        for model in ast.parse(inspect.getsource(sys.modules[module])).body
        if isinstance(model, ast.ClassDef)
        for field, below in pairwise(model.body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str)
    }


class Answer(_Message):
    """What the server sends. Fields that a client does not know are ignored, because later versions may add some."""

    model_config = ConfigDict(extra="ignore")


class Body(_Message):
    """What a client sends. A field that the server does not know is an error, because it is probably mistyped."""

    model_config = ConfigDict(extra="forbid")


class FieldProblem(Answer):
    """What is wrong with one field of a request."""

    field: str
    """A path with dots, such as `spec.seed`; empty if the sentence concerns the whole request."""
    detail: str


class Problem(Answer):
    """An error, as `application/problem+json` (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    """What happened, and what to do: the sentence that the pages show."""
    errors: list[FieldProblem] = []
    """Every field that is wrong, if the request was invalid."""
    suggestion: str = ""
    """Of an action that the environment cannot read: the action that was probably meant."""


class NewReport(Body):
    """A report to the administrators."""

    reason: str
    """What is wrong, in words."""


class VisibilityChoice(Body):
    """Who may see something from now on."""

    visibility: Visibility
