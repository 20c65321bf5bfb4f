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
from apps.connect.application import Connect
from apps.doors import prime, trackio
from apps.garbage import leave_out_what_is_loaded
from apps.live.origin import OwnPagesOnly
from apps.live.routing import websocket_urlpatterns
from apps.live.server_sent import EventStreams
from apps.mcp.application import Mcp
from apps.openenv.application import OpenEnv
from gem.envs.reasoning.source import check_apart
from gemweb.bodies import BoundedBodies, Gate, SizeLimit
from gemweb.handler import SiteHandler
from gemweb.upload_gate import REPORTS, RESULTS, UploadGate, describe_refusal

MAX_BODY_BYTES = 4 * 10**6
upload_gate = UploadGate()
result_gate = UploadGate(RESULTS)
report_gate = UploadGate(REPORTS)
gates: dict[str, Gate] = {
    reverse("agents:upload"): upload_gate,
    reverse("api:upload_checkpoint"): upload_gate,
    reverse("leaderboard:push"): result_gate,
    reverse("api:push_episodes"): result_gate,
    reverse("reported:new"): report_gate,
    reverse("api:report_evaluation"): report_gate,
    "/trackio/": SizeLimit(trackio.MAX_BYTES),
    "/prime/": SizeLimit(prime.MAX_BYTES),
}
streams = EventStreams(SiteHandler())
pages = BoundedBodies(Connect(Mcp(OpenEnv(streams))), MAX_BODY_BYTES, gates, settings.REQUEST_SECONDS, describe_refusal)
sockets = Connect(OpenEnv(URLRouter(websocket_urlpatterns)))
application = ProtocolTypeRouter(
    {
        "http": pages,
        "websocket": OwnPagesOnly(CookieMiddleware(HandshakeLimit(sockets, buckets_of_header))),
    }
)
check_apart()
leave_out_what_is_loaded()
