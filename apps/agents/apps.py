"""The quotas of agents, and agents as content that can be reported."""

from django.apps import AppConfig


class AgentsConfig(AppConfig):
    """Registers how many agents one person may have, and that agents can be reported."""

    name = "apps.agents"

    def ready(self) -> None:
        """Register the quotas and the kind of content."""
        from apps.accounts import personal_data, quotas  # noqa: PLC0415 (models are not ready before)
        from apps.agents import limits  # noqa: PLC0415
        from apps.agents.models import Agent  # noqa: PLC0415
        from apps.agents.personal_data import PART  # noqa: PLC0415
        from apps.moderation import kinds  # noqa: PLC0415

        personal_data.register(PART)
        for quota in limits.QUOTAS:
            quotas.register(quota)
        kinds.register(
            kinds.ModeratedKind(
                "agent",
                lambda: Agent.objects.filter(retired=False).exclude(owner=None),
                key="slug",
                parameters={"slug": "slug"},
                spaces=frozenset({"agents"}),
            )
        )
