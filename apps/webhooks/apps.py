"""Registers the quota of webhooks, their secrets as sealed, and what they keep of a person."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    """The app of webhooks."""

    name = "apps.webhooks"

    def ready(self) -> None:
        """Register quota, personal data and secrets."""
        from apps.accounts import personal_data, quotas  # noqa: PLC0415 (models are not ready before)
        from apps.agents import seal  # noqa: PLC0415
        from apps.webhooks import limits  # noqa: PLC0415
        from apps.webhooks.models import Webhook  # noqa: PLC0415
        from apps.webhooks.personal_data import PART  # noqa: PLC0415

        personal_data.register(PART)
        for quota in limits.QUOTAS:
            quotas.register(quota)
        seal.register(Webhook.objects, "sealed_secret")
