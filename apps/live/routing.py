"""The addresses of WebSockets."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.urls import path, re_path

from apps.live.consumers import LiveConsumer

Message = MutableMapping[str, Any]


async def refuse_unknown(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Refuse a socket at an unknown address."""
    await receive()
    await send({"type": "websocket.close"})


websocket_urlpatterns = [
    path("live/<slug:topic>/<str:key>/", LiveConsumer.as_asgi()),
    re_path(r"", refuse_unknown),  # type: ignore[arg-type]  # Channels routes to ASGI applications
]
