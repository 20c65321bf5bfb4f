"""The re-execution of a row before it ranks: asked for at the end of its job, done by workers in parts of some seconds.

The rows of different people are served in turn. A worker executes what it can in a part, stores it and lets others be
served, so that a long row keeps no worker from the turns, verifications and webhooks that wait behind it. Its CPU
seconds count for its submitter, as those of the job did: without that, a job of a second could cost the others minutes.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from time import monotonic
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

import gem
from apps.admission.line import Line, note_spent, rows
from apps.agents.seal import CannotUnseal
from apps.holders import new_token
from apps.jobs.changes import change
from apps.jobs.models import JobEvent
from apps.leaderboard.boards.waking import wake
from apps.leaderboard.models import Reexecution
from apps.leaderboard.models.reexecutions import ReexecutionQuerySet
from apps.leaderboard.proofs import certificates
from apps.leaderboard.proofs.choices import Repetition, is_comparable, repetition_of
from apps.leaderboard.proofs.episodes import plan_of, stored_episodes
from apps.leaderboard.proofs.waiting import TASK, wake_workers
from apps.leases import Heartbeat, LeaseLost
from apps.queue import enqueue
from gem.records import StoredEpisode
from gem.verification.digests import leaf_of
from gem.verification.reexecution import Finding, reexecute

logger = logging.getLogger(__name__)

PART_SECONDS = 5.0
"""A worker stores what it has executed about this often, and somebody else may be served then."""
GROUP = 64
"""Episodes whose choices are repeated together."""
GAVE_UP = (
    "Workers that executed its episodes have failed. Nothing is lost: an administrator can have it executed again "
    "(manage.py reexecute_rows)."
)
NO_KEY = (
    "Its episodes agree, but the signing key of this site cannot be read. An administrator can make a new one "
    "(manage.py rotate_signing_key); the row is certified then."
)
_LINE = Line("rows", per_person=2)


def ask_again() -> int:
    """Have all rows that could not be verified executed from the beginning. Returns their number."""
    stuck = Reexecution.objects.filter(state=Reexecution.State.UNKNOWN)
    count = stuck.update(
        state=Reexecution.State.WAITING, leaves=[], turns=0, actions=0, notes={}, choices="", attempt=0,
        field="", place="", difference="", ended=None,
    )  # fmt: skip
    wake_workers()
    return count


def check_next(
    stopping: Callable[[], bool] = lambda: False,
    metered: Callable[[int | None], AbstractContextManager[object]] = lambda _: nullcontext(),
) -> bool:
    """Execute a part of the row whose turn it is, in a worker. Returns whether there was one.

    Args:
        metered: what the part runs in, which counts its CPU seconds for the account with this id, if there is one.
    """
    for worn in Reexecution.objects.waiting().worn():
        _end(worn, Reexecution.State.UNKNOWN, difference=GAVE_UP)
    token = new_token()
    affordable = Reexecution.objects.waiting().affordable().claimable()
    claimed = _LINE.claim(_rows(affordable), _busy(), token, 1)
    for row in Reexecution.objects.select_related("job__agent", "job__batch__season").filter(pk__in=claimed):
        with metered(row.job.owner_id):
            _check(row, token, stopping)
    return bool(claimed)


def _check(row: Reexecution, token: UUID, stopping: Callable[[], bool]) -> None:
    """Execute a part of a row that this worker owns, and store it. After an error, the row counts an attempt."""
    owned = Reexecution.objects.owned_by(token).filter(pk=row.pk)
    started = monotonic()
    try:
        with Heartbeat(owned.renew, name=f"row of job {row.pk}") as heartbeat:
            part = _Part(row, lambda: stopping() or heartbeat.lost.is_set())
            part.execute(started + PART_SECONDS)
        _store(row, part, token, monotonic() - started)
    except LeaseLost as lost:
        logger.warning("%s", lost)
    except Exception:  # whatever is wrong with one row must not keep the others waiting
        logger.exception("The episodes of job %s cannot be executed again", row.pk)
        owned.release()
    note_spent(_LINE.name, row.person, row.address, monotonic() - started)


def _rows(waiting: ReexecutionQuerySet) -> ReexecutionQuerySet:
    return rows(waiting, since="created")


def _busy() -> ReexecutionQuerySet:
    return _rows(Reexecution.objects.filter(lease_until__gt=Now()))


@dataclass
class _Part:
    """What a worker executes of a row before it stores it."""

    row: Reexecution
    stopping: Callable[[], bool]
    is_over: bool = False
    """Whether all episodes were executed."""
    first: Finding | None = None
    """The first episode that is not as recorded, or cannot be executed here."""
    other_choice: tuple[str, int, int] | None = None
    repeats: bool = False
    """Whether the choices of all episodes of this part were asked for again."""
    _waiting: list[StoredEpisode] = field(default_factory=list)

    def execute(self, until: float) -> None:
        """Execute the next episodes until this time, or until one differs."""
        job = self.row.job
        repetition = repetition_of(job)
        self.repeats = repetition is not None
        after = int(self.row.leaves[-1][1]) if self.row.leaves else -1
        current: list[StoredEpisode] = []
        findings = reexecute(_noting(stored_episodes(job, after), current), plan=plan_of(job))
        for finding in findings:
            self._add(current.pop(), finding)
            if self.first is not None:
                break
            if len(self._waiting) >= GROUP and self._has_other_choice(repetition):
                break
            if monotonic() >= until or self.stopping():
                break
        else:
            self.is_over = True
        self._has_other_choice(repetition)

    def _add(self, stored: StoredEpisode, finding: Finding) -> None:
        if not finding.is_same:
            self.first = finding
            return
        leaf = leaf_of(stored.record)
        self.row.leaves.append([leaf.env_id, leaf.index, leaf.digest])
        self.row.turns += finding.turns
        for note in finding.notes:
            self.row.notes[note] = self.row.notes.get(note, 0) + 1
        self._waiting.append(stored)

    def _has_other_choice(self, repetition: Repetition | None) -> bool:
        """Have the choices of the waiting episodes repeated."""
        waiting, self._waiting = self._waiting, []
        if repetition is None or self.other_choice or not waiting:
            return self.other_choice is not None and is_comparable(self.row.job)
        records = [stored.record for stored in waiting]
        self.other_choice = repetition.first_difference(records)
        self.row.actions += sum(record.turn_count for record in records)
        return self.other_choice is not None and is_comparable(self.row.job)


def _noting(episodes: Iterator[StoredEpisode], current: list[StoredEpisode]) -> Iterator[StoredEpisode]:
    """The episodes one by one, each of which is in `current` when its finding comes."""
    for stored in episodes:
        current.append(stored)
        yield stored


def _store(row: Reexecution, part: _Part, token: UUID, seconds: float) -> None:
    """Store what a part has found, and the verdict if it has one.

    Raises:
        LeaseLost: another worker has the row.
    """
    with transaction.atomic():
        owned = Reexecution.objects.select_for_update(of=("self",)).owned_by(token).filter(pk=row.pk)
        if not owned.exists():
            raise LeaseLost(f"The row of job {row.pk} is no longer ours.")
        row.seconds += seconds
        row.engine_version = gem.__version__
        if part.other_choice:
            row.choices = Reexecution.Choices.OTHER_MACHINE
        elif part.repeats and row.choices != Reexecution.Choices.OTHER_MACHINE:
            row.choices = Reexecution.Choices.SAME
        row.attempt = 0
        row.let_go()
        row.save()
        _judge(row, part)


def _judge(row: Reexecution, part: _Part) -> None:
    """End the re-execution if its result is known; otherwise wake the next worker."""
    states = Reexecution.State
    if part.first is not None:
        state = states.DIFFERS if part.first.status == "differs" else states.UNKNOWN
        place = f"{part.first.env_id}, episode {part.first.index + 1}"
        _end(row, state, field=part.first.field, place=place, difference=part.first.sentence)
    elif part.other_choice and is_comparable(row.job):
        env_id, index, turn = part.other_choice
        sentence = f"The agent chose another action in turn {turn} when it played the episode again."
        _end(row, states.DIFFERS, field="action", place=f"{env_id}, episode {index + 1}", difference=sentence)
    elif not part.is_over:
        enqueue(TASK, row.pk)
    elif row.executed != row.job.episodes_total:
        sentence = f"The row has {row.executed:,} of its {row.job.episodes_total:,} episodes."
        _end(row, states.DIFFERS, field="episodes", difference=sentence)
    else:
        certify(row)


def certify(row: Reexecution) -> None:
    """Name the tier of a row whose episodes are all as recorded, and sign its certificate."""
    row.tier = certificates.tier_of(row)
    row.ended = timezone.now()
    try:
        row.certificate = certificates.issue(row)
    except CannotUnseal:
        logger.error("The row of job %s cannot be certified: the signing key cannot be read.", row.pk)
        _end(row, Reexecution.State.UNKNOWN, difference=NO_KEY)
        return
    row.save(update_fields=["tier", "ended", "certificate"])
    _end(row, Reexecution.State.VERIFIED)


def _end(row: Reexecution, state: Reexecution.State, *, field: str = "", place: str = "", difference: str = "") -> None:
    with transaction.atomic():
        ended = row.ended or timezone.now()
        Reexecution.objects.filter(pk=row.pk, state=Reexecution.State.WAITING).update(
            state=state, field=field, place=place, difference=difference, ended=ended
        )
        tone = JobEvent.Tone.PLAIN if state == Reexecution.State.VERIFIED else JobEvent.Tone.WARN
        text = {
            Reexecution.State.VERIFIED: f"its episodes were executed again and agree: {row.tier}",
            Reexecution.State.DIFFERS: f"its row does not rank: executed again, {place or 'it'} differs",
            Reexecution.State.UNKNOWN: "its row does not rank: its episodes cannot be executed again here",
        }[state]
        change(row.pk, JobEvent.Kind.CHANGED, text, tone=tone)
        wake()
