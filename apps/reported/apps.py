"""Reported evaluations: their quota, and that they can be reported to administrators and hidden."""

from django.apps import AppConfig


class ReportedConfig(AppConfig):
    """The app of evaluations that other programs have made."""

    name = "apps.reported"

    def ready(self) -> None:
        """Register the quota, the part of an account, and these evaluations as content."""
        from apps.accounts import personal_data, quotas  # noqa: PLC0415 (models are not ready before)
        from apps.moderation import kinds  # noqa: PLC0415
        from apps.reported import limits  # noqa: PLC0415
        from apps.reported.models import ReportedEvaluation  # noqa: PLC0415
        from apps.reported.personal_data import PART  # noqa: PLC0415

        personal_data.register(PART)
        quotas.register(limits.QUOTA)
        kinds.register(
            kinds.ModeratedKind(
                "reported-evaluation",
                ReportedEvaluation.objects.all,
                key="pk",
                parameters={"evaluation_id": "pk"},
                spaces=frozenset({"reported", "api"}),
            )
        )
