"""The quotas of agents."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Registers how many agents one person may have."""

    name = "apps.agents"

    def ready(self) -> None:
        """Register the quotas."""
        from apps.accounts import quotas  # noqa: PLC0415 (models are not ready before)
        from apps.agents import limits  # noqa: PLC0415

        for quota in limits.QUOTAS:
            quotas.register(quota)
