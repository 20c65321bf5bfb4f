"""The app of OpenEnv's servers."""

from django.apps import AppConfig


class OpenEnvConfig(AppConfig):
    """Has no pages: `gemweb.asgi` mounts its addresses beside Django."""

    name = "apps.openenv"
    label = "openenv"
