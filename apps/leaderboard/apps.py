"""The key of the site, which is sealed as the keys of endpoints are."""

from django.apps import AppConfig


class LeaderboardConfig(AppConfig):
    """Registers the signing key, so that it is sealed anew when the sealing key is changed."""

    name = "apps.leaderboard"

    def ready(self) -> None:
        """Register the sealed field."""
        from apps.agents import seal  # noqa: PLC0415 (models are not ready before)
        from apps.leaderboard.models import SiteKey  # noqa: PLC0415

        seal.register(SiteKey.objects, "sealed_key")
