"""How jobs that train are shown, and their quotas."""

from django.apps import AppConfig


class TrainingsConfig(AppConfig):
    """Registers a kind of job and its quotas."""

    name = "apps.trainings"

    def ready(self) -> None:
        """Show jobs that train on pages of this app, and register their quotas."""
        from apps.accounts import personal_data, quotas  # noqa: PLC0415 (models are not ready before)
        from apps.jobs import kinds  # noqa: PLC0415
        from apps.jobs.models import Job  # noqa: PLC0415
        from apps.trainings import alarms, events, limits, pages, topics, views  # noqa: PLC0415
        from apps.trainings.personal_data import PART  # noqa: PLC0415

        kinds.register(
            Job.Kind.TRAINING,
            kinds.KindOfJob(
                views.training, topics.events, events.training_events, alarms.titles, pages.seconds_left_of
            ),
        )
        personal_data.register(PART)
        for quota in limits.QUOTAS:
            quotas.register(quota)
