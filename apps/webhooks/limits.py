"""How many webhooks one person may have."""

from __future__ import annotations

from apps.accounts.models import User
from apps.accounts.quotas import Quota
from apps.webhooks.models import Webhook

WEBHOOKS = "webhooks"


def _webhooks_of(user: User) -> int:
    return Webhook.objects.filter(owner=user).count()


QUOTAS = (
    Quota(
        WEBHOOKS,
        "Webhooks",
        "WEBHOOKS_PER_USER",
        _webhooks_of,
        at_limit="You cannot add another one until you delete one.",
        refusal="You have {used} webhooks, the most that one person may have. Delete one first.",
    ),
)
