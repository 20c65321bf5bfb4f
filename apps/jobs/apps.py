"""Registers the live topic of jobs and the page of evaluations."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """The app of jobs."""

    name = "apps.jobs"

    def ready(self) -> None:
        """Register the topic `job` and the kind of job that evaluates an agent."""
        from apps.jobs import kinds, topics, views  # noqa: PLC0415 (models are not ready before)
        from apps.jobs.models import Job  # noqa: PLC0415
        from apps.live.topics import register  # noqa: PLC0415

        register("job", topics.JobTopic())
        kinds.register(Job.Kind.EVALUATION, kinds.KindOfJob(views.evaluation, topics.evaluation_events))
