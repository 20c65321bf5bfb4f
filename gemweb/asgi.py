"""The ASGI application: Django for pages and the API, streams of events, and the consumers of WebSockets."""

import os

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gemweb.settings")
django.setup(set_prefix=False)

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import CookieMiddleware
from django.conf import settings
from django.urls import reverse

from apps.accounts.request_limits import HandshakeLimit
from apps.api.tokens import buckets_of_header
from apps.live.origin import OwnPagesOnly
from apps.live.routing import websocket_urlpatterns
from apps.live.server_sent import EventStreams
from gemweb.bodies import BoundedBodies
from gemweb.garbage import leave_out_what_is_loaded
from gemweb.handler import SiteHandler
from gemweb.upload_gate import UploadGate, describe_refusal

MAX_BODY_BYTES = 4 * 10**6
upload_gate = UploadGate()
gates = {reverse("agents:upload"): upload_gate, reverse("api:upload_checkpoint"): upload_gate}
streams = EventStreams(SiteHandler())
pages = BoundedBodies(streams, MAX_BODY_BYTES, gates, settings.REQUEST_SECONDS, describe_refusal)
handshakes = HandshakeLimit(URLRouter(websocket_urlpatterns), buckets_of_header)
application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": OwnPagesOnly(CookieMiddleware(handshakes)),
    }
)
leave_out_what_is_loaded()
