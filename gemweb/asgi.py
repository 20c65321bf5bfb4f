"""The web process: Django for pages, one consumer for sockets."""

import os

from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gemweb.settings")
django_application = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import CookieMiddleware

from apps.live.origin import OwnPagesOnly
from apps.live.routing import websocket_urlpatterns

application = ProtocolTypeRouter(
    {
        "http": django_application,
        "websocket": OwnPagesOnly(CookieMiddleware(URLRouter(websocket_urlpatterns))),
    }
)
