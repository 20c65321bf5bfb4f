"""Testing an endpoint with a single message."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from pydantic import SecretStr

from gem.agents.endpoint import chat
from gem.agents.endpoint.client import EndpointClient, EndpointConnections, EndpointError
from gem.agents.endpoint.spec import EndpointSpec
from gem.net.http import AddressGuard, GuardedClient, UnrestrictedGuard

QUESTION = "This is a test of the connection. Answer with the one word ready."
MAX_CHARS = 2000


@dataclass(frozen=True, slots=True)
class Trial:
    """The result of a single message."""

    sentence: str
    """Why there is no usable response; empty if there is one."""
    status: int
    """The HTTP status, 0 if the server was not reached."""
    seconds: float
    text: str = ""
    reasoning: str = ""
    model: str = ""
    finish: str = ""
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def works(self) -> bool:
        """Whether the agent can play: the response has some text."""
        return not self.sentence


async def try_out(
    spec: EndpointSpec, key: SecretStr | str | None = None, *, guard: AddressGuard | None = None, seconds: float = 30.0
) -> Trial:
    """Send one message with the agent's system message and sampling settings, without a retry.

    Faults of the server are reported in the result and raise nothing.
    """
    spec = spec.model_copy(update={"timeout": min(spec.timeout, seconds)})
    messages = [{"role": "system", "content": spec.system}] if spec.system else []
    messages.append({"role": "user", "content": QUESTION})
    started = monotonic()
    async with GuardedClient(guard or UnrestrictedGuard()) as http_client:
        client = EndpointClient(spec, SecretStr(key) if isinstance(key, str) else key, EndpointConnections(http_client))
        try:
            completion = await client.complete(chat.plain_body(spec, messages))
        except EndpointError as error:
            return Trial(str(error), client.status, monotonic() - started)
    text, reasoning = completion.split_reasoning()
    sentence = ""
    if not text:
        sentence = "The server answered without any text"
        sentence += ", because the token limit was reached first." if completion.finish_reason == "length" else "."
    return Trial(
        sentence,
        client.status,
        monotonic() - started,
        text[:MAX_CHARS],
        reasoning[:MAX_CHARS],
        completion.model,
        completion.finish_reason,
        completion.usage.tokens_in,
        completion.usage.tokens_out,
    )
