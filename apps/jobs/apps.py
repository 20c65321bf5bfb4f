"""Registers the live topic of jobs and the page of evaluations."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """The app of jobs."""

    name = "apps.jobs"

    def ready(self) -> None:
        """Register the topic `job`, the kind of job that evaluates an agent, and who owns the episodes of jobs."""
        from apps.episodes.models import EpisodeQuerySet  # noqa: PLC0415 (models are not ready before)
        from apps.jobs import kinds, topics, views  # noqa: PLC0415
        from apps.jobs.models import Job, owner_of_job  # noqa: PLC0415
        from apps.live.topics import register  # noqa: PLC0415

        EpisodeQuerySet.claims.append(owner_of_job)
        register("job", topics.JobTopic())
        kinds.register(Job.Kind.EVALUATION, kinds.KindOfJob(views.evaluation, topics.evaluation_events))
