"""The app's live topic, its section of the lobby, and duels as content that can be reported."""

from django.apps import AppConfig


class DuelsConfig(AppConfig):
    """Registers the topic of duels, their section of the lobby, and that duels can be reported."""

    name = "apps.duels"

    def ready(self) -> None:
        """Register the topic that pages subscribe to and the kind of content; list running duels in the lobby."""
        from apps.duels.events import DuelStream  # noqa: PLC0415 (models are not ready before)
        from apps.duels.side_by_side import under_way  # noqa: PLC0415
        from apps.duels.topics import DuelTopic  # noqa: PLC0415
        from apps.episodes.models import Batch  # noqa: PLC0415
        from apps.live import streams  # noqa: PLC0415
        from apps.live.topics import register  # noqa: PLC0415
        from apps.moderation import kinds  # noqa: PLC0415
        from apps.play import lobby  # noqa: PLC0415

        register("duel", DuelTopic())
        streams.register("duel", DuelStream())
        kinds.register(
            kinds.ModeratedKind(
                "duel",
                lambda: Batch.objects.filter(kind=Batch.Kind.DUEL),
                key="pk",
                parameters={"duel_id": "pk"},
                parts=lambda duel: duel.episodes.all(),
            )
        )
        lobby.register(lobby.LobbySection("duels/under_way.html", under_way))
