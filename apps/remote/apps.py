"""The app of agents that run elsewhere."""

from django.apps import AppConfig


class RemoteConfig(AppConfig):
    """Registers how remote agents play."""

    name = "apps.remote"

    def ready(self) -> None:
        """Register what makes the players of remote agents."""
        from apps.agents import players  # noqa: PLC0415 (models are not ready before)
        from apps.agents.models import Agent  # noqa: PLC0415
        from apps.remote.asking import RemoteAgent  # noqa: PLC0415

        players.MAKERS[Agent.Kind.REMOTE] = RemoteAgent
