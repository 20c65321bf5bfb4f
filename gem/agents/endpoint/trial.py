"""Trying an endpoint: one message, and what came back in words."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

from pydantic import SecretStr

from gem.agents.endpoint import chat
from gem.agents.endpoint.server import Fault, Hosts, Server
from gem.agents.endpoint.spec import EndpointSpec
from gem.net.http import Anywhere, Client, Guard

QUESTION = "This is a test of the connection. Answer with the one word ready."
MOST_CHARS = 2000


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of one message."""

    sentence: str
    """Why there is no answer; empty if there is one."""
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
        """Whether the agent can play: an answer with some text."""
        return not self.sentence


async def try_out(
    spec: EndpointSpec, key: SecretStr | None = None, *, guard: Guard | None = None, seconds: float = 30.0
) -> Trial:
    """Send one message, once, with the agent's own prompt and sampling; never raises for the server's sake."""
    spec = spec.model_copy(update={"timeout": min(spec.timeout, seconds)})
    said = [{"role": "system", "content": spec.system}] if spec.system else []
    said.append({"role": "user", "content": QUESTION})
    started = monotonic()
    async with Client(guard or Anywhere()) as client:
        server = Server(spec, key, Hosts(client))
        try:
            answer = await server.ask(chat.plain_body(spec, said))
        except Fault as fault:
            return Trial(str(fault), server.status, monotonic() - started)
    text, reasoning = answer.parted()
    sentence = ""
    if not text:
        sentence = "The server answered without any text"
        sentence += ", because the token limit was reached first." if answer.finish == "length" else "."
    return Trial(
        sentence,
        server.status,
        monotonic() - started,
        text[:MOST_CHARS],
        reasoning[:MOST_CHARS],
        answer.model,
        answer.finish,
        answer.usage.tokens_in,
        answer.usage.tokens_out,
    )
