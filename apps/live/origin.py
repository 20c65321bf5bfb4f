"""Only pages of this site may open sockets. Refusals are logged with the reason."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Any
from urllib.parse import urlsplit

from channels.security.websocket import WebsocketDenier
from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.utils.http import is_same_domain

logger = logging.getLogger(__name__)


FOR_PROGRAMS = ("/api/", "/openenv/", "/agents/")
"""The beginnings of the paths of sockets that programs open too."""


class OwnPagesOnly:
    """Refuse a handshake from a page of another scheme, host or port, as Django refuses its forms.

    The origin has to be that of the request, whose host is in ALLOWED_HOSTS, or one of CSRF_TRUSTED_ORIGINS. Sockets of
    the API, of OpenEnv and of remote agents are for programs too, which have no origin: there, another origin only
    means that cookies do not count.
    """

    def __init__(self, application: Callable[..., Awaitable[None]]) -> None:
        self.application = application

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Pass on the handshake, or deny it and log the refusal."""
        origin, host = _header(scope, b"origin"), _header(scope, b"host")
        if is_own_origin(origin, host, is_secure=settings.HTTPS or scope.get("scheme") == "wss"):
            await self.application(scope, receive, send)
            return
        if scope["path"].startswith(FOR_PROGRAMS) and validate_host(split_domain_port(host)[0], settings.ALLOWED_HOSTS):
            await self.application({**scope, "headers": _without_cookies(scope["headers"])}, receive, send)
            return
        allowed = ", ".join([*settings.ALLOWED_HOSTS, *settings.CSRF_TRUSTED_ORIGINS])
        logger.warning(
            "A socket was refused: its origin is %s, its host %s; ALLOWED_HOSTS and CSRF_TRUSTED_ORIGINS have %s.",
            origin[:200] or "none",
            host[:200],
            allowed,
        )
        await WebsocketDenier()(scope, receive, send)


def is_own_origin(origin: str, host: str, *, is_secure: bool) -> bool:
    """Whether a page of this origin is one of this site, which the request addressed as `host`."""
    if origin == f"{'https' if is_secure else 'http'}://{host}":
        domain, _ = split_domain_port(host)
        return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
    return any(_is_trusted(origin, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def _is_trusted(origin: str, trusted: str) -> bool:
    """Whether an origin is a trusted one, in which `*.` stands for all subdomains."""
    scheme, _, pattern = trusted.partition("://")
    if not pattern.startswith("*."):
        return origin == trusted
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme == scheme and is_same_domain(parts.netloc, pattern.removeprefix("*"))


def _without_cookies(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name != b"cookie"]


def _header(scope: dict[str, Any], name: bytes) -> str:
    values = [value for key, value in scope.get("headers", []) if key == name]
    return values[0].decode("latin-1") if len(values) == 1 else ""
