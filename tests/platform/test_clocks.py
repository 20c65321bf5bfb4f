"""Clocks of machines may be set back, and may differ: periodic tasks go on."""

from __future__ import annotations

from datetime import timedelta

from celery.utils.imports import symbol_by_name
from django.conf import settings

from gemweb.celery import app

DIFFERENCE = 300.0
"""By so many seconds the clocks of two hosts without time synchronization may differ."""


def test_periodic_tasks_go_on_when_the_clock_is_set_back() -> None:
    scheduler = symbol_by_name(app.conf.beat_scheduler)(app=app)
    try:
        ahead = app.now() + timedelta(days=1)
        for entry in scheduler.schedule.values():
            entry.last_run_at = ahead  # by the clock before it was corrected
        assert scheduler.tick() <= settings.WEBHOOK_SECONDS
        assert all(entry.last_run_at < ahead for entry in scheduler.schedule.values())
    finally:
        scheduler.close()


def test_workers_whose_clock_is_ahead_run_periodic_tasks() -> None:
    of_any_host = [entry for name, entry in app.conf.beat_schedule.items() if name != "reap"]
    assert [entry["task"] for entry in of_any_host if entry["options"]["expires"] < DIFFERENCE] == []
