"""Registers the live topic of jobs, the page of evaluations, the quotas of jobs, and jobs as content."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    """The app of jobs."""

    name = "apps.jobs"

    def ready(self) -> None:
        """Register the topic `job`, the kind of job that evaluates an agent, who owns the episodes, and the quotas."""
        from apps.accounts import personal_data, quotas  # noqa: PLC0415 (models are not ready before)
        from apps.episodes.models import EpisodeQuerySet  # noqa: PLC0415
        from apps.jobs import changes, events, kinds, limits, topics, views  # noqa: PLC0415
        from apps.jobs.models import Job, owner_of_job  # noqa: PLC0415
        from apps.jobs.personal_data import PART  # noqa: PLC0415
        from apps.live import streams  # noqa: PLC0415
        from apps.live.topics import register  # noqa: PLC0415
        from apps.moderation import kinds as content  # noqa: PLC0415

        EpisodeQuerySet.claims.append(owner_of_job)
        personal_data.register(PART)
        register("job", topics.JobTopic(), pace=topics.PACE_SECONDS)
        streams.register("job", events.JobStream())
        kinds.register(
            Job.Kind.EVALUATION, kinds.KindOfJob(views.evaluation, topics.evaluation_events, events.evaluation_events)
        )
        for quota in limits.QUOTAS:
            quotas.register(quota)
        content.register(content.ModeratedKind("job", Job.objects.all, key="pk", parameters={"job_id": "pk"}))
        content.watch("episode", changes.note_moderation)
