"""Trainings elsewhere: their live topic, their quota, and that they can be reported and hidden."""

from django.apps import AppConfig


class CurvesConfig(AppConfig):
    """The app of trainings that run elsewhere."""

    name = "apps.curves"

    def ready(self) -> None:
        """Register the topic, the quota, the part of an account, and these trainings as content."""
        from apps.accounts import personal_data, quotas  # noqa: PLC0415 (models are not ready before)
        from apps.curves import limits, topics  # noqa: PLC0415
        from apps.curves.models import OutsideTraining  # noqa: PLC0415
        from apps.curves.personal_data import PART  # noqa: PLC0415
        from apps.curves.recording import TOPIC  # noqa: PLC0415
        from apps.live.topics import register  # noqa: PLC0415
        from apps.moderation import kinds  # noqa: PLC0415

        register(TOPIC, topics.OutsideTopic())
        personal_data.register(PART)
        quotas.register(limits.QUOTA)
        kinds.register(
            kinds.ModeratedKind(
                "outside-training",
                OutsideTraining.objects.all,
                key="pk",
                parameters={"training_id": "pk"},
                spaces=frozenset({"curves", "api"}),
            )
        )
