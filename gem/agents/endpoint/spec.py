"""How an endpoint agent is set up: the server, the prompt, the sampling, and what to do when no answer comes."""

from __future__ import annotations

import hashlib
import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator
from pydantic_core import PydanticCustomError

from gem.errors import InvalidArgument
from gem.net.http import check_url

SYSTEM = (
    "You act in a text environment, one turn after another. Each message of the user is what the environment shows "
    "you. Think first, then end your answer with exactly one action, written as the instructions ask for it."
)
MOST_TEXT = 20_000
MOST_MORE_BYTES = 8 * 1024
OWN_FIELDS = frozenset({"model", "messages", "stream", "stream_options", "tools", "tool_choice", "n"})
"""What a request has from us; `more` may not change it."""
OPERATIONAL = frozenset({"url", "stream", "timeout", "tries", "patience", "concurrency", "on_failure", "prices"})
"""Fields that do not change what the model is asked."""


class Prices(BaseModel):
    """What a million tokens cost, in whatever currency."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tokens_in: Annotated[float, Field(ge=0, le=100_000)]
    tokens_out: Annotated[float, Field(ge=0, le=100_000)]


class EndpointSpec(BaseModel):
    """Everything that decides what the server is asked, except the key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    """The address under which `/chat/completions` lies: `http://127.0.0.1:8000/v1`."""
    model: Annotated[str, Field(min_length=1, max_length=200)]
    system: Annotated[str, Field(max_length=MOST_TEXT)] = SYSTEM
    """The system message; empty sends none."""
    template: Annotated[str, Field(max_length=MOST_TEXT)] = "{observation}"
    """The user's message of a turn. `{observation}`, `{turn}`, `{max_turns}` and `{env_id}` are filled in."""
    history: Annotated[int, Field(ge=0, le=1000)] | None = None
    """How many earlier turns the server reads again; None: all of them. The first observation, which has the rules,
    is always there."""
    style: Literal["text", "tools"] = "text"
    """`text`: the answer is the action. `tools`: the action and the environment's tools are functions to call."""
    images: bool = False
    """Send the pictures that an observation offers (`info["images"]`, data URLs)."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(gt=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """How the server calls the limit; OpenAI's reasoning models take only the second."""
    seed: Annotated[int, Field(ge=0, lt=2**31)] | None = None
    stop: Annotated[tuple[Annotated[str, Field(min_length=1, max_length=100)], ...], Field(max_length=4)] = ()
    more: dict[str, Any] = {}
    """Further fields of the request, such as `{"reasoning_effort": "low"}` or `{"top_k": 20}`."""

    stream: bool = True
    """Have the answer sent token by token: it can be cut off at once when it grows too long."""
    timeout: Annotated[float, Field(ge=1, le=3600)] = 60.0
    """Seconds for one request, from sending it to the last byte of its answer."""
    tries: Annotated[int, Field(ge=1, le=20)] = 3
    """Requests for one turn, unless `on_failure` is `retry`."""
    patience: Annotated[float, Field(ge=1, le=86_400)] = 300.0
    """Seconds for one turn, all requests and the pauses between them."""
    on_failure: Literal["retry", "forfeit", "stop"] = "retry"
    """When a turn got no answer. `retry`: ask until `patience` is over; then the episode is not counted. `forfeit`:
    after `tries`, take the turn with an empty action, which the environment answers as any other fault. `stop`:
    after `tries`, end everything that is played with this agent."""
    concurrency: Annotated[int, Field(ge=1, le=1024)] = 16
    """Requests that the server gets at the same time from one process."""
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
        own = sorted(OWN_FIELDS & value.keys())
        if own:
            raise _refused(f"{own[0]} cannot be set here; this part of the request is the agent's own.")
        try:
            size = len(json.dumps(value, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise _refused("The further fields are not JSON.") from error
        if size > MOST_MORE_BYTES:
            raise _refused(f"The further fields have {size:,} bytes; {MOST_MORE_BYTES:,} are allowed.")
        return value

    @property
    def digest(self) -> str:
        """Eight characters that change with what the model is asked, and not with where or how fast."""
        asked = self.model_dump(mode="json", exclude=set(OPERATIONAL))
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()[:8]


def _refused(sentence: str) -> PydanticCustomError:
    """An error whose message is exactly this sentence."""
    return PydanticCustomError("refused", "{sentence}", {"sentence": sentence})
