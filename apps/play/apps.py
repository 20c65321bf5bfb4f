"""The app's live topics."""

from django.apps import AppConfig


class PlayConfig(AppConfig):
    """Registers the topics of episodes and of the showcase."""

    name = "apps.play"

    def ready(self) -> None:
        """Register the topics that pages can subscribe to, and that whoever starts a show owns its episode."""
        from apps.episodes.models import EpisodeQuerySet  # noqa: PLC0415 (models are not ready before)
        from apps.live.topics import register  # noqa: PLC0415
        from apps.play.shows.operations import started_by  # noqa: PLC0415
        from apps.play.shows.showcase import TOPIC, ShowcaseTopic  # noqa: PLC0415
        from apps.play.topics import EpisodeTopic  # noqa: PLC0415

        register("episode", EpisodeTopic())
        register(TOPIC, ShowcaseTopic())
        EpisodeQuerySet.claims.append(started_by)
