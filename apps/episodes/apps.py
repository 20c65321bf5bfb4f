"""What happens to episodes when something happens elsewhere."""

from django.apps import AppConfig


class EpisodesConfig(AppConfig):
    """Takes part when a visitor logs in."""

    name = "apps.episodes"

    def ready(self) -> None:
        """Let what a visitor played follow them into their account."""
        from apps.accounts.visitors import when_joining  # noqa: PLC0415 (models are not ready before)
        from apps.episodes.operations import adopt  # noqa: PLC0415

        when_joining(adopt)
