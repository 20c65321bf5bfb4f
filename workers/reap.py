"""Periodic tasks of the scheduler, which find and repeat lost work."""

from __future__ import annotations

from celery import current_app

from apps.accounts.operations import delete_expired_sessions
from apps.agents import uploads
from apps.jobs import leases
from apps.leaderboard.operations import record_missing_scores
from apps.queue import beat


@current_app.task(name="reap.everything")
def everything() -> None:
    """Take back expired leases, resend lost messages, write missing scores and clean up uploads."""
    beat("reap")
    leases.reap()
    record_missing_scores()
    uploads.reap()


@current_app.task(name="reap.tidy")
def tidy() -> None:
    """Delete expired sessions. Runs once an hour."""
    delete_expired_sessions()
