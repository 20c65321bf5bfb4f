"""Profiles, which the pages of agents show."""

from django.apps import AppConfig


class StandingsConfig(AppConfig):
    """Registers what the pages of agents show besides what the agents app knows."""

    name = "apps.standings"

    def ready(self) -> None:
        """Register the readers of profiles."""
        from apps.agents import profile_reader  # noqa: PLC0415 (models are not ready before)
        from apps.standings.pages import profile_of, results_of  # noqa: PLC0415

        profile_reader.register(profile_of, results_of)
