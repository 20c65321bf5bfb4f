"""How much one person, and one training elsewhere, may send."""

from __future__ import annotations

from django.db.models import Sum

from apps.accounts.models import User
from apps.accounts.quotas import Quota
from apps.curves.models import OutsideTraining

OUTSIDE_TRAININGS = "outside-trainings"
MAX_ENTRIES = 2_000_000
MAX_TRANSCRIPTS = 2_000


def _count(user: User) -> int:
    return OutsideTraining.objects.filter(owner=user).count()


def bytes_of_curves(user: User) -> int:
    """The size of what a person's trainings elsewhere have sent."""
    return int(OutsideTraining.objects.filter(owner=user).aggregate(total=Sum("size"))["total"] or 0)


QUOTA = Quota(
    OUTSIDE_TRAININGS,
    "Trainings elsewhere",
    "OUTSIDE_TRAININGS_PER_USER",
    _count,
    at_limit="You cannot start another one until you delete one. Running ones continue.",
    refusal="You have {used} trainings that run elsewhere, the most that one person may have. Delete one first. "
    "Nothing was stored.",
)
