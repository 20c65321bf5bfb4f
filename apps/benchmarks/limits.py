"""How many benchmarks one person may have."""

from __future__ import annotations

from apps.accounts.models import User
from apps.accounts.quotas import Quota
from apps.benchmarks.models import OwnBenchmark

BENCHMARKS = "benchmarks"


def _benchmarks_of(user: User) -> int:
    return OwnBenchmark.objects.filter(owner=user).count()


QUOTA = Quota(
    BENCHMARKS,
    "Benchmarks of your own",
    "BENCHMARKS_PER_USER",
    _benchmarks_of,
    at_limit="You cannot add another one until you delete one.",
    refusal="You have {used} benchmarks, the most that one person may have. Delete one first. Nothing was added.",
)
