"""The addresses of WebSockets."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.urls import path, re_path

from apps.live.consumers import EventsConsumer, LiveConsumer

Message = MutableMapping[str, Any]


async def refuse_unknown(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    """Refuse a socket at an unknown address."""
    await receive()
    await send({"type": "websocket.close"})


websocket_urlpatterns = [
    path("live/<slug:topic>/<str:key>/", LiveConsumer.as_asgi()),
    path("api/v1/episodes/<str:key>/events", EventsConsumer.as_asgi(), {"topic": "episode"}),
    path("api/v1/duels/<str:key>/events", EventsConsumer.as_asgi(), {"topic": "duel"}),
    path("api/v1/jobs/<str:key>/events", EventsConsumer.as_asgi(), {"topic": "job"}),
    path("api/v1/trainings/<str:key>/events", EventsConsumer.as_asgi(), {"topic": "job", "kind": "training"}),
    re_path(r"", refuse_unknown),  # type: ignore[arg-type]  # Channels routes to ASGI applications
]
