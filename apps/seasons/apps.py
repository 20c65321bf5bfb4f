"""The keys of seasons, which are sealed as the keys of endpoints are."""

from django.apps import AppConfig


class SeasonsConfig(AppConfig):
    """Registers the keys of seasons, so that they are sealed anew when the sealing key is changed."""

    name = "apps.seasons"

    def ready(self) -> None:
        """Register the sealed field."""
        from apps.agents import seal  # noqa: PLC0415 (models are not ready before)
        from apps.seasons.models import Season  # noqa: PLC0415

        seal.register(Season.objects, "sealed_key")
