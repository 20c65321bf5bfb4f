"""What the pages of this app listen to, and how evaluations are shown."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """Registers the topic and one kind of job."""

    name = "apps.jobs"

    def ready(self) -> None:
        """Let pages listen to jobs, and show those that evaluate an agent."""
        from apps.jobs import kinds, topics, views  # noqa: PLC0415 (models are not ready before)
        from apps.jobs.models import Job  # noqa: PLC0415
        from apps.live.topics import register  # noqa: PLC0415

        register("job", topics.JobTopic())
        kinds.register(Job.Kind.EVALUATION, kinds.KindOfJob(views.evaluation, topics.evaluation_events))
