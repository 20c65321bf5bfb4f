"""What people and administrators do about content: report it, hide it, show it again, dismiss reports."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Model
from django.db.models.functions import Now

from apps.accounts.models import User, Viewer, account_of
from apps.live import recheck_access
from apps.moderation.kinds import ModeratedKind
from apps.moderation.models import Decision, Report

MAX_REASON = 1000
"""Characters of a reason."""


def report(kind: ModeratedKind, key: str, reason: str, reporter: Viewer) -> Report:
    """Store what somebody thinks is wrong, for the administrators."""
    return Report.objects.create(kind=kind.name, key=key, reason=reason, reporter=account_of(reporter))


@transaction.atomic
def hide(kind: ModeratedKind, row: Model, reason: str, by: User) -> None:
    """Hide a row from everybody but its owner, and close the reports about it."""
    _decide(Decision.Verb.HIDE, kind, row, reason, by)
    kind.mark(row, reason)
    recheck_access()  # to what belongs to it too


@transaction.atomic
def show(kind: ModeratedKind, row: Model, by: User) -> None:
    """Show a hidden row again."""
    _decide(Decision.Verb.SHOW, kind, row, "", by)
    kind.mark(row, "")


@transaction.atomic
def dismiss(kind: ModeratedKind, key: str, by: User) -> None:
    """Close the reports about a row, which stays as it is, or which is gone."""
    Decision.objects.create(verb=Decision.Verb.DISMISS, kind=kind.name, key=key, by=by.get_username())
    _close(kind, key)


def _decide(verb: Decision.Verb, kind: ModeratedKind, row: Model, reason: str, by: User) -> None:
    key = str(getattr(row, kind.key))
    Decision.objects.create(verb=verb, kind=kind.name, key=key, reason=reason, by=by.get_username())
    _close(kind, key)


def _close(kind: ModeratedKind, key: str) -> None:
    Report.objects.filter(kind=kind.name, key=key, closed=None).update(closed=Now())
