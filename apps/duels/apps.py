"""The app's live topic and its section of the lobby."""

from django.apps import AppConfig


class DuelsConfig(AppConfig):
    """Registers the topic of duels and their section of the lobby."""

    name = "apps.duels"

    def ready(self) -> None:
        """Register the topic that pages subscribe to, and list running duels in the lobby."""
        from apps.duels.events import DuelStream  # noqa: PLC0415 (models are not ready before)
        from apps.duels.side_by_side import under_way  # noqa: PLC0415
        from apps.duels.topics import DuelTopic  # noqa: PLC0415
        from apps.live import streams  # noqa: PLC0415
        from apps.live.topics import register  # noqa: PLC0415
        from apps.play import lobby  # noqa: PLC0415

        register("duel", DuelTopic())
        streams.register("duel", DuelStream())
        lobby.register(lobby.LobbySection("duels/under_way.html", under_way))
