"""The true advantages that a person has asked for, as data of their account."""

from django.apps import AppConfig


class LensConfig(AppConfig):
    """Registers what belongs to accounts."""

    name = "apps.lens"

    def ready(self) -> None:
        """Register what is stopped when an account is closed."""
        from apps.accounts import personal_data  # noqa: PLC0415 (models are not ready before)
        from apps.lens.personal_data import PART  # noqa: PLC0415

        personal_data.register(PART)
