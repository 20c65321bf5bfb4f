"""Quotas: how much of the site one person may use, what they use now, and what happens at the limit.

Apps register their quotas in `AppConfig.ready`. A setting holds the limit for everybody; administrators give single
people others (`QuotaOverride`). Every operation that needs room asks here: nothing is ever deleted to make room.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from django.conf import settings
from django.db import connection
from django.db.models import DateField, Sum
from django.db.models.functions import Cast, Now

from apps.accounts.models import CpuUse, QuotaOverride, User

LIVE_EPISODES, CPU_SECONDS, STORAGE = "live-episodes", "cpu-seconds", "storage-megabytes"
JOBS_QUEUED, JOBS_RUNNING, TRAININGS = "jobs-queued", "jobs-running", "trainings"
ENDPOINTS, UPLOADS = "endpoint-agents", "uploaded-checkpoints"
CPU_DAYS_KEPT = 90
"""Days for which CPU seconds are kept, for administrators who look for whoever took them."""


@dataclass(frozen=True, slots=True)
class Quota:
    """Something of which one person may have only so much."""

    name: str
    """Its name in commands, such as `live-episodes`."""
    title: str
    """Its name on the account page."""
    setting: str
    """The setting with the limit for everybody; None there means that there is no limit."""
    used: Callable[[User], float]
    """How much a person has now."""
    at_limit: str
    """What happens at the limit, as a sentence for the account page."""
    refusal: str
    """The answer to somebody who wants more, with the fields `used`, `limit` and `most` (see `room`)."""
    unit: str = ""
    """Follows the limit on pages, such as `CPU s today`."""
    binds_staff: bool = True
    """Whether it applies to administrators too."""
    room: int = 1
    """How many times the limit somebody may have, if what exceeds it waits until there is room."""


@dataclass(frozen=True, slots=True)
class QuotaUse:
    """A quota of one person, with what they use."""

    quota: Quota
    used: float
    limit: int | None
    """None if there is no limit."""

    @property
    def is_used_up(self) -> bool:
        """Whether there is no room for anything more."""
        return self.limit is not None and self.used >= self.limit


_TABLE: dict[str, Quota] = {}


def register(quota: Quota) -> None:
    """Add a quota to the table."""
    _TABLE[quota.name] = quota


def table() -> list[Quota]:
    """All quotas, in the order of the account page."""
    return list(_TABLE.values())


def default_limit(name: str) -> int | None:
    """The limit of people without an override, and of visitors; None if there is none."""
    limit: int | None = getattr(settings, _TABLE[name].setting)
    return limit


def limit_of(user: User, name: str) -> int | None:
    """The limit of this person; None if there is none."""
    return _limit(user, name, _overrides(user, [name]))


def uses(user: User) -> list[QuotaUse]:
    """Every quota with what this person uses, for the account page."""
    overrides = _overrides(user, list(_TABLE))
    return [QuotaUse(quota, quota.used(user), _limit(user, quota.name, overrides)) for quota in table()]


def _overrides(user: User, names: list[str]) -> dict[str, int | None]:
    """The limits that administrators gave this person, by the quota's name; None for no limit."""
    return dict(QuotaOverride.objects.filter(user=user, quota__in=names).values_list("quota", "most"))


def _limit(user: User, name: str, overrides: Mapping[str, int | None]) -> int | None:
    if user.is_staff and not _TABLE[name].binds_staff:
        return None
    return overrides[name] if name in overrides else default_limit(name)


def refusal(user: User, name: str, more: float = 1) -> str:
    """Why this person cannot have `more` of something now, as a sentence; empty if they can.

    If `more` is not known yet, it is 0, and whatever is left is enough.
    A caller whose people could ask at the same time locks the person's row before.
    """
    limit = limit_of(user, name)
    if limit is None:
        return ""
    quota = _TABLE[name]
    used = quota.used(user)
    most = limit * quota.room
    is_too_much = used >= most or used + more > most
    return quota.refusal.format(used=f"{used:,.0f}", limit=f"{limit:,}", most=f"{most:,}") if is_too_much else ""


def set_limit(user: User, name: str, most: int | None) -> None:
    """Give one person another limit; None for no limit."""
    QuotaOverride.objects.update_or_create(user=user, quota=name, defaults={"most": most})


def unset_limit(user: User, name: str) -> None:
    """Give a person the limit of everybody again."""
    QuotaOverride.objects.filter(user=user, quota=name).delete()


# ---------------------------------------------------------------- CPU seconds


def record_cpu(use: CpuUse.Use, seconds: Mapping[int, float]) -> None:
    """Add CPU seconds to what people have used today, by the database's clock. Deleted people are skipped.

    Args:
        seconds: by the id of the person.
    """
    if not seconds:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO accounts_cpuuse (user_id, day, "use", seconds)
            SELECT person.id, (now() AT TIME ZONE 'UTC')::date, %s, spent.seconds
            FROM unnest(%s::bigint[], %s::float8[]) AS spent (id, seconds)
            JOIN accounts_user person ON person.id = spent.id
            ORDER BY person.id
            ON CONFLICT (user_id, day, "use") DO UPDATE SET seconds = accounts_cpuuse.seconds + excluded.seconds
            """,
            [use.value, list(seconds), list(seconds.values())],
        )


def cpu_today(user: User) -> float:
    """The CPU seconds that workers have spent for this person since midnight, UTC."""
    spent = CpuUse.objects.filter(user=user, day=Cast(Now(), DateField())).aggregate(total=Sum("seconds"))
    return float(spent["total"] or 0.0)


def overrides(name: str) -> dict[int, int | None]:
    """The limits of people who have others than everybody, by the id of the person; None for no limit."""
    return dict(QuotaOverride.objects.filter(quota=name).values_list("user", "most"))


def people_over_cpu() -> list[int]:
    """The ids of people who have used up their CPU seconds of today. Their queued work waits until midnight, UTC."""
    limits = overrides(CPU_SECONDS)
    everybodys = default_limit(CPU_SECONDS)
    spent = CpuUse.objects.filter(day=Cast(Now(), DateField()), user__is_staff=False).order_by("user")
    totals = spent.values_list("user").annotate(total=Sum("seconds"))
    return [
        user_id
        for user_id, total in totals
        if (limit := limits.get(user_id, everybodys)) is not None and total >= limit
    ]


def why_checks_wait(user: User) -> str:
    """Why what this person has sent is not checked before tomorrow, as a sentence; empty if it is."""
    if not refusal(user, CPU_SECONDS, 0):
        return ""
    return "You have used up today's CPU seconds. The check continues after midnight UTC. Nothing is lost."


def delete_old_cpu_use() -> None:
    """Delete CPU seconds that are older than `CPU_DAYS_KEPT`."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM accounts_cpuuse WHERE day < current_date - %s", [CPU_DAYS_KEPT])


register(
    Quota(
        CPU_SECONDS,
        "CPU time of workers",
        "CPU_SECONDS_PER_DAY",
        cpu_today,
        at_limit="Jobs, trainings, and checks of your rows and of what you have sent wait until midnight UTC, and no "
        "live episode starts. Running episodes continue.",
        refusal="You have used {used} of your {limit} CPU seconds today. Nothing was started, and nothing is lost. "
        "Your quota resets at midnight UTC.",
        unit="CPU s today",
        binds_staff=False,
    )
)
