"""The probes that a person has asked for, as data of their account."""

from django.apps import AppConfig


class LearnabilityConfig(AppConfig):
    """Registers what belongs to accounts."""

    name = "apps.learnability"

    def ready(self) -> None:
        """Register what is forgotten when an account is deleted."""
        from apps.accounts import personal_data  # noqa: PLC0415 (models are not ready before)
        from apps.learnability.personal_data import PART  # noqa: PLC0415

        personal_data.register(PART)
