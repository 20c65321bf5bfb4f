"""Studies that people start: their live topic, their quota, and that they can be reported and hidden."""

from django.apps import AppConfig


class StudiesConfig(AppConfig):
    """The app of studies."""

    name = "apps.studies"

    def ready(self) -> None:
        """Register the topic, the quota, the size of files, the part of an account, and studies as content."""
        from apps.accounts import personal_data, quotas  # noqa: PLC0415 (models are not ready before)
        from apps.live.topics import register  # noqa: PLC0415
        from apps.moderation import kinds  # noqa: PLC0415
        from apps.studies import limits, topics  # noqa: PLC0415
        from apps.studies.models import Study  # noqa: PLC0415
        from apps.studies.operations import TOPIC  # noqa: PLC0415
        from apps.studies.personal_data import PART  # noqa: PLC0415
        from apps.trainings.limits import sizes  # noqa: PLC0415

        register(TOPIC, topics.StudyTopic())
        personal_data.register(PART)
        quotas.register(limits.QUOTA)
        sizes.append(limits.bytes_of_studies)
        kinds.register(
            kinds.ModeratedKind(
                "study",
                Study.objects.all,
                key="pk",
                parameters={"study_id": "pk"},
                spaces=frozenset({"studies", "api"}),
            )
        )
