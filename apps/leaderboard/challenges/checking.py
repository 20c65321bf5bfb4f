"""Executing the episodes of challenges again, in workers, in parts of some seconds.

A part stores what it has executed and lets others be served. The first episode that is not what it has to be ends the
check: the file is deleted, and the challenge says why and takes another file until its deadline.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from time import monotonic
from uuid import UUID

from django.db.models import Value
from django.db.models.functions import Now

from apps.accounts import quotas
from apps.admission.line import Line, note_spent, rows
from apps.episodes.text import shortened, storable
from apps.faults import infrastructure_fault
from apps.holders import new_token
from apps.leaderboard.challenges import lines, recording
from apps.leaderboard.challenges.drawing import ChallengeRefused, document_of
from apps.leaderboard.challenges.receiving import TASK
from apps.leaderboard.models import Challenge
from apps.leaderboard.models.challenges import ChallengeQuerySet
from apps.leases import Heartbeat, LeaseLost
from apps.queue import enqueue
from gem.errors import InvalidData
from gem.records import StoredEpisode
from gem.records.episode_files import UnreadableEpisode
from gem.verification import challenges as engine
from gem.verification.digests import leaf_of
from gem.verification.reexecution import Finding

logger = logging.getLogger(__name__)

PART_SECONDS = 5.0
"""A worker stores what it has executed about this often, and somebody else may be served then."""
PROBLEM_CHARS = 1000
GAVE_UP = "Workers that executed these episodes have failed. They may need too much memory."
GONE = "The file is gone. Send it again."
_LINE = Line("results", per_person=2)


def check_next(
    stopping: Callable[[], bool] = lambda: False,
    metered: Callable[[int], AbstractContextManager[object]] = lambda _: nullcontext(),
) -> bool:
    """Check a part of the episodes whose turn it is, in a worker. Returns whether there were any.

    Args:
        metered: what the check runs in, which counts its CPU seconds for the account with this id.
    """
    for worn in Challenge.objects.waiting().worn():
        _refuse(Challenge.objects.waiting().free().filter(pk=worn.pk), worn, GAVE_UP)
    token = new_token()
    affordable = Challenge.objects.waiting().claimable().exclude(owner__in=quotas.people_over_cpu())
    claimed = _LINE.claim(_rows(affordable), _busy(), token, 1)
    for challenge in Challenge.objects.select_related("owner", "season").filter(pk__in=claimed):
        with metered(challenge.owner_id):
            _check(challenge, token, stopping)
    return bool(claimed)


def place(challenge: Challenge) -> int | None:
    """The place of a challenge's episodes in the queue, from 1; None if they do not wait for a worker."""
    return _LINE.place(_rows(Challenge.objects.waiting().free()), _busy(), challenge.pk)


def _rows(waiting: ChallengeQuerySet) -> ChallengeQuerySet:
    return rows(waiting, since="sent")


def _busy() -> ChallengeQuerySet:
    return _rows(Challenge.objects.waiting().filter(lease_until__gt=Now()))


def _check(challenge: Challenge, token: UUID, stopping: Callable[[], bool]) -> None:
    """Check a part of a file that this worker owns. After an error, the challenge counts an attempt."""
    owned = Challenge.objects.waiting().filter(pk=challenge.pk).owned_by(token)
    started = monotonic()
    try:
        with Heartbeat(owned.renew, name=str(challenge)) as heartbeat:
            is_over = _execute(challenge, lambda: stopping() or heartbeat.lost.is_set())
            challenge.seconds += monotonic() - started
            _store(challenge, owned)
            if is_over:
                _finish(challenge, owned)
        if owned.release(attempt=Value(0)):  # a part was checked, or the file waits for its row
            enqueue(TASK, challenge.pk)
    except _Refused as refusal:
        _refuse(owned, challenge, str(refusal))
    except LeaseLost as lost:
        logger.warning("%s", lost)
    except Exception as error:
        is_ours = infrastructure_fault(error) is not None
        logger.exception("The episodes of %s cannot be checked", challenge)
        owned.release(**({"attempt": challenge.attempt - 1} if is_ours else {}))
    note_spent(_LINE.name, challenge.person, challenge.address, monotonic() - started)


class _Refused(Exception):
    """The episodes are not those of the challenge, or differ; the message says where and how."""


def _execute(challenge: Challenge, stopping: Callable[[], bool]) -> bool:
    """Execute the next episodes for `PART_SECONDS`. Returns whether all of the file were executed.

    The time begins with the first of them, after those of earlier parts were skipped, so that every part gets on. It
    lasts as long as that took, if this was longer: otherwise long files would mostly be skipped.

    Raises:
        _Refused: at the first that is not what it has to be, or if some are missing at the end.
    """
    try:
        document = document_of(challenge)
    except ChallengeRefused as error:
        raise _Refused(str(error)) from error
    seen = [(env_id, index) for env_id, index, _ in challenge.leaves]
    began, until = monotonic(), math.inf
    try:
        for stored, finding in engine.check(_read(challenge), document.planned, seen):
            _add(challenge, stored, finding)
            now = monotonic()
            until = min(until, now + max(PART_SECONDS, now - began))
            if now >= until or stopping():
                return False
    except FileNotFoundError as error:
        raise _Refused(GONE) from error
    except (UnreadableEpisode, InvalidData) as error:
        raise _Refused(str(error)) from error
    seen = [(env_id, index) for env_id, index, _ in challenge.leaves]
    if sentence := engine.missing(document.planned, document.episodes, seen):
        raise _Refused(sentence)
    return True


def _read(challenge: Challenge) -> Iterator[StoredEpisode]:
    for number, stored in lines.episodes(challenge.path, challenge.lines):
        challenge.lines = number
        yield stored


def _add(challenge: Challenge, stored: StoredEpisode, finding: Finding) -> None:
    if not finding.is_same:
        index = stored.record.index
        raise _Refused(f"Line {challenge.lines:,}, {finding.env_id}, episode {index}: {finding.sentence}")
    leaf = leaf_of(stored.record)
    challenge.leaves.append([leaf.env_id, leaf.index, leaf.digest])
    challenge.executed += 1
    challenge.turns += finding.turns
    for note in finding.notes:
        challenge.notes[note] = challenge.notes.get(note, 0) + 1


def _store(challenge: Challenge, owned: ChallengeQuerySet) -> None:
    """Store how far the check is.

    Raises:
        LeaseLost: another worker has the challenge.
    """
    names = ("lines", "leaves", "executed", "turns", "notes", "seconds")
    if not owned.update(**{name: getattr(challenge, name) for name in names}):
        raise LeaseLost(f"{challenge} is no longer ours")


def _finish(challenge: Challenge, owned: ChallengeQuerySet) -> None:
    """Make a row of a file of which every episode agrees, and delete the file.

    Raises:
        _Refused: if the row would not rank.
    """
    try:
        recording.record(challenge, owned)
    except (InvalidData, ChallengeRefused) as error:
        raise _Refused(str(error)) from error
    challenge.path.unlink(missing_ok=True)


def _refuse(owned: ChallengeQuerySet, challenge: Challenge, sentence: str) -> None:
    """Delete the file, and let the challenge wait for another one."""
    problem = shortened(storable(sentence), PROBLEM_CHARS)
    if owned.release(state=Challenge.State.OPEN, problem=problem, attempt=0):
        challenge.path.unlink(missing_ok=True)
