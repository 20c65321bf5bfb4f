"""The peer of the hub: the same socket on a channels_redis group layer, as a small ASGI application.

`LAYER` says which one. It holds no Django; what it delivers is the text that the sender put into the group.
"""

import os
from importlib import import_module
from typing import Any

from channels.generic.websocket import AsyncWebsocketConsumer
from channels.layers import channel_layers
from channels.routing import ProtocolTypeRouter, URLRouter
from django.urls import re_path

LAYERS = {
    "RedisChannelLayer": "channels_redis.core",
    "RedisPubSubChannelLayer": "channels_redis.pubsub",
}
GROUP = "episode"


def make_layer(name: str) -> Any:
    """The group layer called `name`, on the same Valkey, with its own defaults."""
    return getattr(import_module(LAYERS[name]), name)(hosts=[os.environ["VALKEY_URL"]])


class GroupConsumer(AsyncWebsocketConsumer):  # type: ignore[misc]
    """Adds itself to the group and sends on what comes."""

    async def connect(self) -> None:
        """Join the group."""
        await self.channel_layer.group_add(GROUP, self.channel_name)
        await self.accept()

    async def disconnect(self, code: int) -> None:
        """Leave it."""
        await self.channel_layer.group_discard(GROUP, self.channel_name)

    async def event(self, message: dict[str, str]) -> None:
        """A turn."""
        await self.send(message["text"])


async def hello(_scope: Any, _receive: Any, send: Any) -> None:
    """Any page: says that the process is up."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


if name := os.environ.get("LAYER"):
    channel_layers.set("default", make_layer(name))

application = ProtocolTypeRouter({"http": hello, "websocket": URLRouter([re_path(r"", GroupConsumer.as_asgi())])})
