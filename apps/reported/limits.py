"""How many evaluations one person may report, and how large they may be."""

from __future__ import annotations

from django.db.models import Sum

from apps.accounts.models import User
from apps.accounts.quotas import Quota
from apps.reported.models import ReportedEvaluation

REPORTED_EVALUATIONS = "reported-evaluations"
MAX_EPISODES = 100_000


def _count(user: User) -> int:
    return ReportedEvaluation.objects.filter(owner=user).count()


def bytes_of_reports(user: User) -> int:
    """The size of what a person has reported."""
    return int(ReportedEvaluation.objects.filter(owner=user).aggregate(total=Sum("size"))["total"] or 0)


QUOTA = Quota(
    REPORTED_EVALUATIONS,
    "Reported evaluations",
    "REPORTED_EVALUATIONS_PER_USER",
    _count,
    at_limit="You can report another one when you delete one.",
    refusal="You have {used} reported evaluations, the most that one person may have. Delete one first. Nothing was "
    "stored.",
)
