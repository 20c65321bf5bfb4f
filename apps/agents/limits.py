"""How many agents one person may have."""

from __future__ import annotations

from apps.accounts.models import User
from apps.accounts.quotas import ENDPOINTS, UPLOADS, Quota
from apps.agents.models import ASKED, Agent
from apps.agents.uploads import uploads_of


def _endpoints_of(user: User) -> int:
    return Agent.objects.filter(kind__in=ASKED, retired=False, owner=user).count()


QUOTAS = (
    Quota(
        ENDPOINTS,
        "Endpoint and remote agents",
        "ENDPOINTS_PER_USER",
        _endpoints_of,
        at_limit="You cannot add another one until you delete one.",
        refusal="You have {used} endpoint and remote agents, the most that one person may have. Delete one first.",
    ),
    Quota(
        UPLOADS,
        "Uploaded checkpoints",
        "UPLOADS_PER_USER",
        uploads_of,
        at_limit="You cannot upload another one until you delete one.",
        refusal="You have uploaded {used} checkpoints, the most that one person may have. Delete one first.",
    ),
)
