"""What the pages of this app listen to."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Registers the topic."""

    name = "apps.jobs"

    def ready(self) -> None:
        """Let pages listen to jobs."""
        from apps.jobs.topics import JobTopic  # noqa: PLC0415 (models are not ready before)
        from apps.live.topics import register  # noqa: PLC0415

        register("job", JobTopic())
