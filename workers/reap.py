"""Periodic tasks of the scheduler, which find and repeat lost work."""

from __future__ import annotations

import logging
from collections.abc import Callable

from celery import current_app

from apps.accounts.operations import delete_expired_sessions
from apps.accounts.personal_data import erase_closed
from apps.accounts.quotas import delete_old_cpu_use
from apps.admission.line import forget_parties
from apps.agents import uploads
from apps.api.operations import forget_repeats
from apps.benchmarks.operations import wake_workers as wake_for_benchmarks
from apps.curves import thinning
from apps.episodes.lists.plays import count_if_due
from apps.episodes.questions import mistakes, verification
from apps.jobs.afterwards.operations import erase as erase_deleted_jobs
from apps.jobs.leases import recovery
from apps.leaderboard.boards.computing import wake_if_outdated
from apps.leaderboard.boards.site_rows import submit_next
from apps.leaderboard.challenges import receiving
from apps.leaderboard.operations import record_missing_scores
from apps.leaderboard.proofs import keys
from apps.leaderboard.proofs.waiting import wake_workers
from apps.leaderboard.seasons import begin_all, reveal_all
from apps.learnability.asking import wake_workers as wake_for_probes
from apps.leases import end_overdue_transactions, expire_leases_of_the_dead
from apps.lens import asking
from apps.openenv.recording import fail_lost
from apps.play.bench import trials
from apps.play.starting.once import forget as forget_forms
from apps.queue import REAPED, beat, note
from apps.remote.asking import forget_lost as forget_questions
from apps.reported import reading_files
from apps.studies.operations import wake_workers as wake_for_studies
from apps.webhooks.keeping import forget_old

logger = logging.getLogger(__name__)


@current_app.task(name="reap.everything")
def everything() -> None:
    """End stuck transactions, recover lost work, write missing scores, begin and reveal seasons, and clean up.

    A duty that fails does not keep the others from being done; its error is raised at the end.
    """
    beat("reap")
    errors = [error for duty in DUTIES if (error := _failure_of(duty)) is not None]
    if errors:
        raise errors[0]
    note(REAPED)


DUTIES: tuple[Callable[[], object], ...] = (
    end_overdue_transactions,
    expire_leases_of_the_dead,
    recovery.reap,
    fail_lost,
    keys.ensure,
    record_missing_scores,
    wake_workers,
    asking.wake_workers,
    verification.QUESTION.wake_worker,
    mistakes.QUESTION.wake_worker,
    trials.wake_worker,
    wake_for_probes,
    wake_for_studies,
    reveal_all,
    begin_all,
    wake_if_outdated,
    submit_next,
    uploads.reap,
    receiving.reap,
    wake_for_benchmarks,
    thinning.wake_workers,
    reading_files.wake_workers,
    forget_parties,
    erase_closed,
    erase_deleted_jobs,
    count_if_due,
)


def _failure_of(duty: Callable[[], object]) -> Exception | None:
    try:
        duty()
    except Exception as error:  # the scheduler goes on with its other duties, whatever it is
        logger.exception("%s.%s failed", duty.__module__, duty.__name__)
        return error
    return None


@current_app.task(name="reap.tidy")
def tidy() -> None:
    """Delete expired sessions, old CPU seconds, answers to repeatable requests, deliveries and questions, hourly."""
    delete_expired_sessions()
    delete_old_cpu_use()
    forget_repeats()
    forget_forms()
    forget_old()
    forget_questions()
