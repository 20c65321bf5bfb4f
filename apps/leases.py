"""Who owns a row for some seconds, by the database's clock: shards, shows and pending turns have the same columns."""

from __future__ import annotations

from datetime import timedelta
from uuid import UUID

from django.conf import settings
from django.db.models import Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now


def lease_end() -> CombinedExpression:
    """When a lease ends that is taken or renewed now."""
    return Now() + timedelta(seconds=settings.LEASE_SECONDS)


def unleased() -> Q:
    """Rows that nobody owns, or no longer."""
    return Q(lease_until=None) | Q(lease_until__lte=Now())


def leased_to(token: UUID) -> Q:
    """Rows that `token` owns."""
    return Q(lease_token=token, lease_until__gt=Now())
