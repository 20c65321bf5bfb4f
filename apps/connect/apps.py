"""The app of connections."""

from django.apps import AppConfig


class ConnectConfig(AppConfig):
    """Has the pages of connections; `gemweb.asgi` mounts its sockets beside Django."""

    name = "apps.connect"
