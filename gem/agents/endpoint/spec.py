"""The settings of an endpoint agent: the server, the prompt, the sampling, and what to do without a response."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from gem.errors import InvalidArgument
from gem.net.http import check_url
from gem.validation.whole import Flag, Whole

SYSTEM = (
    "You act in a text environment, one turn after another. Each message of the user is what the environment shows "
    "you. Think first, then end your answer with exactly one action, written as the instructions ask for it."
)
MAX_TEXT_CHARS = 20_000
MAX_MORE_BYTES = 8 * 1024
RESERVED_FIELDS = frozenset({"model", "messages", "stream", "stream_options", "tools", "tool_choice", "n"})
"""Fields of a request that the agent sets itself, so that `more` may not contain them."""
OPERATIONAL_FIELDS = frozenset({"url", "stream", "timeout", "tries", "patience", "concurrency", "on_failure", "prices"})
"""Settings that do not change the content of a request."""


class Prices(BaseModel):
    """The prices of a million tokens, in any currency."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens_in: Annotated[float, Field(ge=0, le=100_000)]
    tokens_out: Annotated[float, Field(ge=0, le=100_000)]


class EndpointSpec(BaseModel):
    """All settings of an endpoint agent except the key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    """The base URL, to which `/chat/completions` is appended: `http://127.0.0.1:8001/v1`."""
    model: Annotated[str, Field(min_length=1, max_length=200)]
    system: Annotated[str, Field(max_length=MAX_TEXT_CHARS)] = SYSTEM
    """The system message; if it is empty, none is sent."""
    template: Annotated[str, Field(max_length=MAX_TEXT_CHARS)] = "{observation}"
    """The user message of a turn, with the placeholders `{observation}`, `{turn}`, `{max_turns}` and `{env_id}`."""
    history: Annotated[Whole, Field(ge=0, le=1000)] | None = None
    """The number of earlier turns that a request contains; None means all. The first observation, which has the
    rules, is always included."""
    style: Literal["text", "tools"] = "text"
    """`text`: the response is the action. `tools`: the model calls the action and the tools as functions."""
    images: Flag = False
    """Whether to send the pictures of an observation (`info["images"]`, data URLs)."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: Annotated[Whole, Field(ge=1, le=1_000_000)] | None = None
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The field of the request with the limit; OpenAI's reasoning models accept only the second name."""
    seed: Annotated[Whole, Field(ge=0, lt=2**31)] | None = None
    stop: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=100)], ...], Field(max_length=4)] = ()
    more: dict[str, Any] = {}
    """Further fields of the request, such as `{"reasoning_effort": "low"}` or `{"top_k": 20}`."""

    stream: Flag = True
    """Whether the server streams the response token by token; a response that grows too long is then cut off early."""
    timeout: Annotated[float, Field(ge=1, le=3600)] = 60.0
    """The time limit of a request in seconds, from sending it to the last byte of the response."""
    tries: Annotated[Whole, Field(ge=1, le=20)] = 3
    """The maximum number of requests for a turn, unless `on_failure` is `retry`."""
    patience: Annotated[float, Field(ge=1, le=86_400)] = 300.0
    """The time limit of a turn in seconds, with all requests and the pauses between them."""
    on_failure: Literal["retry", "forfeit", "stop"] = "retry"
    """What to do if a turn gets no response. `retry`: try again until `patience` is over; then the episode is not
    counted. `forfeit`: after `tries` requests, take the turn with an empty action, which the environment treats like
    any other malformed action. `stop`: after `tries` requests, end everything that is played with this agent."""
    concurrency: Annotated[Whole, Field(ge=1, le=1024)] = 16
    """The maximum number of requests of one process to the server at the same time."""
    prices: Prices | None = None

    @field_validator("url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        try:
            return check_url(value).removesuffix("/chat/completions")
        except InvalidArgument as error:
            raise _refused(str(error)) from error

    @field_validator("template")
    @classmethod
    def _shows_the_observation(cls, value: str) -> str:
        if "{observation}" not in value:
            raise _refused("The template has to contain {observation}: without it the agent reads nothing.")
        return value

    @field_validator("more")
    @classmethod
    def _adds_only(cls, value: dict[str, Any]) -> dict[str, Any]:
        conflicts = sorted(RESERVED_FIELDS & value.keys())
        if conflicts:
            raise _refused(f"{conflicts[0]} cannot be set here; this part of the request is the agent's own.")
        try:
            size = len(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise _refused("The further fields are not JSON.") from error
        if size > MAX_MORE_BYTES:
            raise _refused(f"The further fields have {size:,} bytes; {MAX_MORE_BYTES:,} are allowed.")
        return value

    @property
    def digest(self) -> str:
        """Eight hexadecimal digits that depend on all settings except those of `OPERATIONAL_FIELDS`."""
        fields = self.model_dump(mode="json", exclude=set(OPERATIONAL_FIELDS))
        return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()[:8]


def _refused(sentence: str) -> PydanticCustomError:
    """Make a validation error whose message is exactly this sentence."""
    return PydanticCustomError("refused", "{sentence}", {"sentence": sentence})
