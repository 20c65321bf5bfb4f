"""How jobs that train are shown."""

from django.apps import AppConfig


class TrainingsConfig(AppConfig):
    """Registers a kind of job."""

    name = "apps.trainings"

    def ready(self) -> None:
        """Show jobs that train on pages of this app."""
        from apps.jobs import kinds  # noqa: PLC0415 (models are not ready before)
        from apps.jobs.models import Job  # noqa: PLC0415
        from apps.trainings import topics, views  # noqa: PLC0415

        kinds.register(Job.Kind.TRAINING, kinds.KindOfJob(views.training, topics.events))
