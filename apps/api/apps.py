"""Registers what the API keeps of a person, and how streams of events find tokens."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The app of the REST API."""

    name = "apps.api"

    def ready(self) -> None:
        """Register the tokens of a person as a part of their account, and as what a stream may be opened with."""
        from apps.accounts import personal_data  # noqa: PLC0415 (models are not ready before)
        from apps.api.personal_data import PART  # noqa: PLC0415
        from apps.api.tokens import TOKENS  # noqa: PLC0415
        from apps.live.session_user import register_tokens  # noqa: PLC0415

        personal_data.register(PART)
        register_tokens(TOKENS)
