"""The app's hooks into other apps."""

from django.apps import AppConfig


class EpisodesConfig(AppConfig):
    """Registers what happens to a visitor's episodes at login."""

    name = "apps.episodes"

    def ready(self) -> None:
        """Move the seats of a visitor to the account when they log in."""
        from apps.accounts.visitors import when_joining  # noqa: PLC0415 (models are not ready before)
        from apps.episodes.operations import adopt  # noqa: PLC0415

        when_joining(adopt)
