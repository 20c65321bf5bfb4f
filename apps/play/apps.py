"""The app's live topics and its quota."""

from django.apps import AppConfig


class PlayConfig(AppConfig):
    """Registers the topics of episodes and of the showcase, the quota of live episodes, and people's episodes."""

    name = "apps.play"

    def ready(self) -> None:
        """Register the topics that pages can subscribe to, the quota, and what belongs to accounts."""
        from apps.accounts import personal_data, quotas  # noqa: PLC0415 (models are not ready before)
        from apps.live.topics import register  # noqa: PLC0415
        from apps.play.personal_data import PART  # noqa: PLC0415
        from apps.play.shows import operations as shows  # noqa: PLC0415
        from apps.play.shows.showcase import TOPIC, ShowcaseTopic  # noqa: PLC0415
        from apps.play.topics import EpisodeTopic  # noqa: PLC0415

        personal_data.register(PART)
        register("episode", EpisodeTopic())
        register(TOPIC, ShowcaseTopic())
        quotas.register(
            quotas.Quota(
                quotas.LIVE_EPISODES,
                "Live episodes of agents",
                "SHOWS_PER_PERSON",
                shows.live_episodes_of,
                at_limit="You cannot start another one until one of them ends or you stop it.",
                refusal=shows.TOO_MANY,
                unit="at a time",
                binds_staff=False,
            )
        )
