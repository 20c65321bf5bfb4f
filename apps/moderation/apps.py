"""The reports of a person, in the export of the account."""

from django.apps import AppConfig


class ModerationConfig(AppConfig):
    """Registers what belongs to accounts."""

    name = "apps.moderation"

    def ready(self) -> None:
        """Register the reports that people have sent."""
        from apps.accounts import personal_data  # noqa: PLC0415 (models are not ready before)
        from apps.moderation.personal_data import PART  # noqa: PLC0415

        personal_data.register(PART)
