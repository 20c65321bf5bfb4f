"""Probing an environment in a worker, with a limit of time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from time import monotonic
from typing import Any
from uuid import UUID

from django.db.models.functions import Now
from django.utils import timezone

from apps.admission.line import Line, note_spent, rows
from apps.holders import new_token
from apps.learnability.models import Probe, ProbeQuerySet
from apps.leases import Heartbeat
from gem.errors import GemError
from gem.learnability import Report, Stopped, probe
from gem.learnability.report import Played

logger = logging.getLogger(__name__)

MOST_SECONDS = 60.0
"""The longest that a worker is busy with one probe."""
SEEDS = 60
TRIES = 4
TOO_LONG = (
    f"A probe here takes at most {MOST_SECONDS:.0f} s, and this environment needs longer. Run gemweb learnable on "
    f"your own machine."
)
GAVE_UP = "Workers that probed it have died. Nothing is lost: try again."
_LINE = Line("probes", per_person=1, per_address=1)


def compute_next(stopping: Callable[[], bool] = lambda: False) -> bool:
    """Compute the probe that is next, in a worker. Returns whether there was one."""
    for worn in Probe.objects.waiting().worn():
        _end(Probe.objects.waiting().worn().filter(pk=worn.pk), Probe.State.FAILED, sentence=GAVE_UP)
    token = new_token()
    claimed = _LINE.claim(_rows(Probe.objects.waiting().claimable()), _busy(), token, 1)
    for key in claimed:
        _compute(key, token, stopping)
    return bool(claimed)


def place(waiting: Probe) -> int | None:
    """Its place in the queue, from 1; None if it does not wait there."""
    return _LINE.place(_rows(Probe.objects.waiting().free()), _busy(), waiting.pk)


def content_of(report: Report) -> dict[str, Any]:
    """A report as plain data, for the page."""
    return {
        "kind": report.verdict.kind,
        "sentence": report.verdict.sentence,
        "rows": [_row(played) for played in report.shown],
        "signal": report.signal,
        "starts": report.distinct_starts,
        "seeds": report.seeds,
        "tries": report.tries,
        "notes": list(report.notes),
    }


def _row(played: Played) -> dict[str, Any]:
    solved = played.solved
    return {
        "name": played.name,
        "solved": None if solved is None else [solved.mean, solved.low, solved.high],
        "mean_return": played.mean_return,
    }


def _rows(waiting: ProbeQuerySet) -> ProbeQuerySet:
    return rows(waiting, since="created")


def _busy() -> ProbeQuerySet:
    return _rows(Probe.objects.filter(lease_until__gt=Now()))


def _compute(key: str, token: UUID, stopping: Callable[[], bool]) -> None:
    """Probe one environment. After an unexpected error, the probe counts an attempt.

    If the lease is lost meanwhile, nothing is written: somebody else probes it.
    """
    row = Probe.objects.get(pk=key)
    owned = Probe.objects.waiting().owned_by(token).filter(pk=key)
    began = monotonic()
    try:
        with Heartbeat(owned.renew, owned.exists, name=f"probe {key}") as heartbeat:
            report = probe(
                row.env_id,
                seeds=SEEDS,
                tries=TRIES,
                stopping=lambda: stopping() or heartbeat.lost.is_set() or monotonic() > began + MOST_SECONDS,
            )
        _end(owned, Probe.State.DONE, content=content_of(report), seconds=monotonic() - began)
    except Stopped:
        if monotonic() > began + MOST_SECONDS:
            _end(owned, Probe.State.FAILED, sentence=TOO_LONG, seconds=monotonic() - began)
        else:  # the worker ends
            owned.release(attempt=0)
    except GemError as error:
        _end(owned, Probe.State.FAILED, sentence=str(error), seconds=monotonic() - began)
    except Exception:  # whatever is wrong with one environment must not keep the others waiting
        logger.exception("The environment of probe %s cannot be probed", key)
        owned.release()
    note_spent(_LINE.name, row.person, row.address, monotonic() - began)


def _end(rows: ProbeQuerySet, state: Probe.State, **changes: Any) -> None:
    rows.release(state=state, ended=timezone.now(), **changes)
