"""The key of the site, which is sealed as the keys of endpoints are, and what people bring from elsewhere."""

from django.apps import AppConfig


class LeaderboardConfig(AppConfig):
    """Registers the signing key, so that it is sealed anew when the sealing key is changed, and results of people."""

    name = "apps.leaderboard"

    def ready(self) -> None:
        """Register the sealed field, the quotas, the part of an account, what is recorded, and reported rows."""
        from apps.accounts import personal_data, quotas  # noqa: PLC0415 (models are not ready before)
        from apps.agents import seal  # noqa: PLC0415
        from apps.jobs.afterwards.operations import being_recorded  # noqa: PLC0415
        from apps.leaderboard.challenges import drawing, recording, reports  # noqa: PLC0415
        from apps.leaderboard.models import ReportedRow, SiteKey  # noqa: PLC0415
        from apps.leaderboard.personal_data import PART  # noqa: PLC0415
        from apps.moderation import kinds  # noqa: PLC0415

        seal.register(SiteKey.objects, "sealed_key")
        personal_data.register(PART)
        being_recorded.append(recording.batches)
        quotas.register(drawing.QUOTA)
        quotas.register(reports.QUOTA)
        kinds.register(
            kinds.ModeratedKind(
                "reported-row",
                ReportedRow.objects.all,
                key="pk",
                parameters={"row_id": "pk"},
                spaces=frozenset({"leaderboard", "api"}),
            )
        )
