"""The addresses of OpenEnv, beside Django: `/openenv/<env_id>/...`, or `/openenv/<token>/<env_id>/...`."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, NamedTuple
from urllib.parse import unquote

from django.conf import settings
from django.http.request import split_domain_port, validate_host

import gem
from apps.accounts.request_limits import HandshakeLimit
from apps.api.tokens import PREFIX, buckets_of_header
from apps.live.threads import in_thread
from apps.openenv import http, sockets
from apps.openenv.access import Refused, identify
from apps.openenv.paths import ROOT
from gem.errors import UnknownEnvironment

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]


class Target(NamedTuple):
    """What an address is about."""

    env_id: str
    """Empty for the list of all."""
    action: str
    """The rest of the path: reset, ws."""
    token: str
    prefix: str
    """The path of the server, without the token."""


class OpenEnv:
    """Answers what is addressed to `/openenv/`, over HTTP and WebSockets, and passes everything else on."""

    def __init__(self, application: Application) -> None:
        self.application = application

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request or a handshake."""
        if not scope["path"].startswith(ROOT):
            await self.application(scope, receive, send)
        elif scope["type"] == "websocket":
            await _connect(scope, receive, send)
        else:
            await _limited(scope, receive, send)


def read_path(path: str) -> Target:
    """The parts of an address.

    Raises:
        Refused: if there is no such environment.
    """
    parts = [unquote(part) for part in path.removeprefix(ROOT).split("/") if part]
    token = parts.pop(0) if parts and parts[0].startswith(PREFIX) else ""
    env_id, action = (parts[0] if parts else ""), "/".join(parts[1:])
    try:
        if env_id:
            gem.spec(env_id)
    except UnknownEnvironment as error:
        raise Refused(404, f"There is no environment {env_id[:80]!r}. The list is at {ROOT}.") from error
    return Target(env_id, action, token, f"{ROOT}{env_id}")


async def _connect(scope: Scope, receive: Receive, send: Send) -> None:
    """Accept a handshake and serve the session, or refuse it with a status that clients can read."""
    await receive()
    try:
        target = read_path(scope["path"])
        if not target.env_id or target.action not in {"ws", "mcp"}:
            raise Refused(404, "Sessions are at /openenv/<env_id>/ws.")
        caller = await in_thread(identify, scope, target.token)
    except Refused as refusal:
        await _send_json("websocket.http.response", send, refusal.status, {"detail": refusal.message})
        return
    await send({"type": "websocket.accept"})
    await sockets.serve(target.env_id, caller, receive, send, bare_rpc=target.action == "mcp")


async def _request(scope: Scope, receive: Receive, send: Send) -> None:
    status, value = await _answer(scope, receive)
    await _send_json("http.response", send, status, value, has_body=scope["method"] != "HEAD")


async def _answer(scope: Scope, receive: Receive) -> http.Answer:
    try:
        host = next((value for name, value in scope["headers"] if name == b"host"), b"").decode("latin-1")
        if not validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
            raise Refused(400, "This server has a different host name.")
        target = read_path(scope["path"])
        if not target.env_id:
            return 200, {"environments": [spec.id for spec in gem.registry.specs()]}
        caller = await in_thread(identify, scope, target.token)
        body = await _read_body(receive)
        query = scope["query_string"].decode("latin-1")
        return await http.answer(scope["method"], target.env_id, target.action, query, body, caller, target.prefix)
    except Refused as refusal:
        return refusal.status, {"detail": refusal.message}


_limited = HandshakeLimit(_request, buckets_of_header)
"""Requests count as those of the API do."""


async def _read_body(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Refused(400, "The request ended before its body was complete.")
        body += message.get("body", b"")
        if len(body) > http.MAX_BODY_BYTES:
            raise Refused(413, f"A body can have at most {http.MAX_BODY_BYTES // 1024} KiB.")
        if not message.get("more_body", False):
            return bytes(body)


async def _send_json(kind: str, send: Send, status: int, value: Any, *, has_body: bool = True) -> None:
    """Send a response; `kind` is how its messages begin."""
    body = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    if status == HTTPStatus.UNAUTHORIZED:
        headers.append((b"www-authenticate", b"Bearer"))
    await send({"type": f"{kind}.start", "status": status, "headers": headers})
    await send({"type": f"{kind}.body", "body": body if has_body else b"", "more_body": False})
