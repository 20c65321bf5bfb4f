"""Registers what the API keeps of a person."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The app of the REST API."""

    name = "apps.api"

    def ready(self) -> None:
        """Register the tokens of a person as a part of their account."""
        from apps.accounts import personal_data  # noqa: PLC0415 (models are not ready before)
        from apps.api.personal_data import PART  # noqa: PLC0415

        personal_data.register(PART)
