"""The ASGI application: Django for pages and the API, streams of events, and the consumers of WebSockets."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gemweb.settings")
django_application = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import CookieMiddleware
from django.conf import settings
from django.urls import reverse

from apps.live.origin import OwnPagesOnly
from apps.live.routing import websocket_urlpatterns
from apps.live.server_sent import EventStreams
from gemweb.bodies import BoundedBodies
from gemweb.upload_gate import UploadGate, describe_refusal

MAX_BODY_BYTES = 4 * 10**6
upload_gate = UploadGate()
gates = {reverse("agents:upload"): upload_gate, reverse("api:upload_checkpoint"): upload_gate}
pages = BoundedBodies(
    EventStreams(django_application), MAX_BODY_BYTES, gates, settings.REQUEST_SECONDS, describe_refusal
)
application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": OwnPagesOnly(CookieMiddleware(URLRouter(websocket_urlpatterns))),
    }
)
