"""The app's live topics and its quota."""

from django.apps import AppConfig


class PlayConfig(AppConfig):
    """Registers the topics of episodes and of the showcase, the quota of live episodes, and people's episodes."""

    name = "apps.play"

    def ready(self) -> None:
        """Register topics, the quota, what belongs to accounts, and that whoever starts a show owns its episode."""
        from apps.accounts import personal_data, quotas, visitors  # noqa: PLC0415 (models are not ready before)
        from apps.episodes import steering  # noqa: PLC0415
        from apps.episodes.events import EpisodeStream  # noqa: PLC0415
        from apps.episodes.models import EpisodeQuerySet  # noqa: PLC0415
        from apps.live import streams  # noqa: PLC0415
        from apps.live.topics import register  # noqa: PLC0415
        from apps.play.people import names  # noqa: PLC0415
        from apps.play.personal_data import PART  # noqa: PLC0415
        from apps.play.shows import operations as shows  # noqa: PLC0415
        from apps.play.shows.showcase import TOPIC, ShowcaseTopic  # noqa: PLC0415
        from apps.play.shows.steering import controls  # noqa: PLC0415
        from apps.play.topics import EpisodeTopic  # noqa: PLC0415

        personal_data.register(PART)
        visitors.when_joining(names.forget)
        register("episode", EpisodeTopic())
        streams.register("episode", EpisodeStream())
        register(TOPIC, ShowcaseTopic())
        EpisodeQuerySet.claims.append(shows.started_by)
        steering.controls.append(controls)
        quotas.register(
            quotas.Quota(
                quotas.LIVE_EPISODES,
                "Live episodes of agents",
                "SHOWS_PER_PERSON",
                shows.live_episodes_of,
                at_limit="You can start as many again; they wait until one ends or you stop one.",
                refusal=shows.TOO_MANY,
                unit="at a time",
                binds_staff=False,
                room=shows.ROOM,
            )
        )
