"""The books of a job as pages and programs show them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.db.models import Sum

from apps.episodes.models import Episode
from apps.jobs.books.rows import EpisodeBooks, JobBooks, Reservation, Sums

if TYPE_CHECKING:
    from apps.jobs.models import Job

LIMITS_OF_MONEY = ("money_budget", "max_episode_money")
NAMES = ("tokens_in", "tokens_out", "estimated_in", "estimated_out", "requests", "money")


@dataclass(frozen=True, slots=True)
class Account:
    """What requests have used, and what is reserved for those under way."""

    tokens_in: int = 0
    tokens_out: int = 0
    estimated: int = 0
    """The part of all tokens that no server has counted."""
    reserved: int = 0
    """The most tokens of the requests under way; not part of the others."""
    requests: int = 0
    money: Decimal = Decimal(0)

    @property
    def tokens(self) -> int:
        """All tokens that are booked."""
        return self.tokens_in + self.tokens_out


def account_of(sums: Sums, reserved: int = 0) -> Account:
    """A row of the books."""
    return Account(sums.tokens_in, sums.tokens_out, sums.estimated, reserved, sums.requests, sums.money)


def books_of(job_id: str) -> Account:
    """The books of a job; empty if none of its agents sends requests."""
    sums = JobBooks.objects.filter(job=job_id).first()
    return Account() if sums is None else account_of(sums, sum(_reserved(job_id)))


def books_at_the_end(job_id: str) -> Account:
    """The books of a job that ends now: what is under way counts as estimated."""
    sums = JobBooks.objects.filter(job=job_id).first()
    if sums is None:
        return Account()
    tokens_in, tokens_out = _reserved(job_id)
    return Account(
        sums.tokens_in + tokens_in,
        sums.tokens_out + tokens_out,
        sums.estimated + tokens_in + tokens_out,
        0,
        sums.requests,
        sums.money,
    )


def books_by_side(job: Job) -> dict[str, Account]:
    """The books of a job's agents by side, `agent` and `opponent`, of those that sent requests."""
    rows = EpisodeBooks.objects.filter(job=job.pk).values("side").annotate(**{name: Sum(name) for name in NAMES})
    return {row["side"]: _account(row) for row in rows.order_by("side")}


def books_by_episode(job: Job) -> dict[str, Account]:
    """The books of a job's finished episodes by their ids. Each counts all attempts at it and all its agents."""
    rows = EpisodeBooks.objects.filter(job=job.pk).values("slot").annotate(**{name: Sum(name) for name in NAMES})
    by_slot = {row["slot"]: _account(row) for row in rows.order_by("slot")}
    if not by_slot:
        return {}
    slots = Episode.objects.filter(batch=job.batch_id).values_list("pk", "slot")
    return {key: by_slot[slot] for key, slot in slots if slot in by_slot}


def cost_of(job: Job, account: Account) -> Decimal | None:
    """What the requests cost; None if no agent has prices. Only for those who may see them (`may_see_set_up`)."""
    return account.money if account.money or (job.set_up or {}).get("prices") else None


def spec_of(job: Job, *, priced: bool) -> dict[str, Any]:
    """The request of a job. Limits of money say something about the prices, so they are for those who may see these."""
    return {name: value for name, value in job.spec.items() if priced or name not in LIMITS_OF_MONEY}


def _reserved(job_id: str) -> tuple[int, int]:
    open_rows = Reservation.objects.filter(job=job_id, is_estimated=False)
    sums = open_rows.aggregate(tokens_in=Sum("tokens_in", default=0), tokens_out=Sum("tokens_out", default=0))
    return sums["tokens_in"], sums["tokens_out"]


def _account(row: Mapping[str, Any]) -> Account:
    estimated = row["estimated_in"] + row["estimated_out"]
    return Account(row["tokens_in"], row["tokens_out"], estimated, 0, row["requests"], row["money"])
