"""The daily seed, and what is kept of a person's tries."""

from django.apps import AppConfig


class DailyConfig(AppConfig):
    """Registers the export of tries."""

    name = "apps.daily"

    def ready(self) -> None:
        """Register the part of personal data."""
        from apps.accounts import personal_data  # noqa: PLC0415 (models are not ready before)
        from apps.daily.personal_data import PART  # noqa: PLC0415

        personal_data.register(PART)
