"""The addresses of connections, beside Django: sockets of remote agents, and chat completions for one episode."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, NamedTuple

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from apps.accounts.request_limits import HandshakeLimit, RequestBucket, account_bucket
from apps.agents.models import Agent
from apps.api.models import Scope
from apps.api.problems import UNKNOWN_TOKEN
from apps.api.tokens import any_token
from apps.connect import completions
from apps.connect.paths import CHAT, LINE
from apps.connect.sockets import Connection
from apps.live.threads import in_thread
from apps.remote.models import EpisodeKey
from apps.remote.operations import PREFIX, digest_of

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Receive, Send], Awaitable[None]]

NO_AGENT = "You have no remote agent with this name. Add one on the page of agents, or see gemweb agent serve."


class Refused(Exception):
    """A handshake that is not accepted; the message is for people."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message


class Caller(NamedTuple):
    """Who connects."""

    agent: Agent
    came_from: str
    """The name of the token."""


class Connect:
    """Answers what is addressed to connections, and passes everything else on."""

    def __init__(self, application: Application) -> None:
        self.application = application
        self._chat = HandshakeLimit(_chat, buckets_of_key)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Answer a request or a handshake."""
        if scope["type"] == "websocket" and (found := LINE.fullmatch(scope["path"])):
            await _connect(found["slug"], scope, receive, send)
        elif scope["type"] == "http" and CHAT.fullmatch(scope["path"]):
            await self._chat(scope, receive, send)
        else:
            await self.application(scope, receive, send)


async def _connect(slug: str, scope: Message, receive: Receive, send: Send) -> None:
    """Accept a handshake and serve the connection, or refuse it with a status and a sentence."""
    await receive()
    authorization = _header(scope, b"authorization")
    try:
        caller = await in_thread(_identify, slug, authorization)
    except Refused as refusal:
        body = json.dumps({"detail": refusal.message}).encode()
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await send({"type": "websocket.http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "websocket.http.response.body", "body": body})
        return
    await send({"type": "websocket.accept"})
    is_allowed = partial(_may_connect, slug, authorization)
    await Connection(caller.agent, caller.came_from, receive, send, is_allowed).serve()


def _identify(slug: str, authorization: str) -> Caller:
    """The agent, if the token is one of its owner and may connect it.

    Raises:
        Refused: if not. What belongs to others is not there.
    """
    token = any_token(authorization)
    if token is None:
        raise Refused(401, UNKNOWN_TOKEN)
    if Scope.ANSWER not in token.scopes:
        raise Refused(403, f"The token “{token.name}” has no scope {Scope.ANSWER.value}. Make one that has it.")
    agent = Agent.objects.remotes().filter(slug=slug, owner=token.user).first()
    if agent is None or token.agent_id not in (None, agent.pk):
        raise Refused(404, NO_AGENT)
    return Caller(agent, token.name)


def _may_connect(slug: str, authorization: str) -> bool:
    """Whether the token still is one that may connect the agent."""
    try:
        _identify(slug, authorization)
    except Refused:
        return False
    return True


async def _chat(scope: Message, receive: Receive, send: Send) -> None:
    found = CHAT.fullmatch(scope["path"])
    assert found is not None
    host = split_domain_port(_header(scope, b"host"))[0]
    if not validate_host(host, settings.ALLOWED_HOSTS):
        await completions.refuse(send, 400, "This server has a different host name.")
        return
    scheme, _, secret = _header(scope, b"authorization").partition(" ")
    await completions.serve(
        found["episode"],
        secret.strip() if scheme.lower() == "bearer" else "",
        scope["method"],
        found["what"],
        is_repeated=_header(scope, b"x-stainless-retry-count") not in ("", "0"),
        receive=receive,
        send=send,
    )


def buckets_of_key(authorization: str) -> list[RequestBucket] | None:
    """What a request with the key of an episode takes from: the limit of the account whose agent plays it."""
    secret = authorization.partition(" ")[2].strip()
    if not secret.startswith(PREFIX):
        return None
    owner = EpisodeKey.objects.filter(digest=digest_of(secret)).values_list("agent__owner", flat=True).first()
    return None if owner is None else [account_bucket(owner)]


def _header(scope: Message, name: bytes) -> str:
    return next((value for key, value in scope["headers"] if key == name), b"").decode("latin-1")
