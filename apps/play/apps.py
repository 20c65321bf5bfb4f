"""What the pages of this app listen to."""

from django.apps import AppConfig


class PlayConfig(AppConfig):
    """Registers the topics."""

    name = "apps.play"

    def ready(self) -> None:
        """Let pages listen to episodes and to the showcase."""
        from apps.live.topics import register  # noqa: PLC0415 (models are not ready before)
        from apps.play.shows.showcase import TOPIC, ShowcaseTopic  # noqa: PLC0415
        from apps.play.topics import EpisodeTopic  # noqa: PLC0415

        register("episode", EpisodeTopic())
        register(TOPIC, ShowcaseTopic())
