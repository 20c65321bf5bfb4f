"""The common parts of all requests and answers: their base classes, the names of states, and errors."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from gem.validation.whole import Whole

Visibility = Literal["public", "unlisted", "private"]
"""`public` is listed; `unlisted` is open to whoever has the address; `private` is for its owner."""
Outcome = Literal["won", "lost", "limit", "error", "running", "abandoned"]
"""How an episode ended: solved, not solved, turn limit, environment error, or that it is running or abandoned."""
JobState = Literal["queued", "running", "paused", "done", "stopped", "decided", "cancelled", "failed"]
Id = Annotated[str, Field(pattern=r"^[0-9a-hjkmnp-tv-z]{12}$")]
Slug = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,79}$")]
Seed = Annotated[Whole, Field(ge=0, le=2**63 - 1)]


class Answer(BaseModel):
    """An answer of the server. Fields that a client does not know are ignored, because later versions may add some."""

    model_config = ConfigDict(extra="ignore", use_attribute_docstrings=True)


class Body(BaseModel):
    """The body of a request. A field that the server does not know is an error, because it is probably mistyped."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class FieldProblem(Answer):
    """An error in one field of a request."""

    field: str
    """A path with dots, such as `spec.seed`; empty if the sentence concerns the whole request."""
    detail: str


class Problem(Answer):
    """An error, as `application/problem+json` (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    """The error and what to do about it: the sentence that the pages show."""
    errors: list[FieldProblem] = []
    """Every field that is wrong, if the request was invalid."""
    suggestion: str = ""
    """Of an action that the environment cannot read: the action that was probably meant."""


class NewReport(Body):
    """A report to the administrators."""

    reason: str
    """The error, in words."""


class VisibilityChoice(Body):
    """The new visibility of something."""

    visibility: Visibility
