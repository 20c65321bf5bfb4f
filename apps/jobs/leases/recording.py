"""What workers write of the episodes that they have played: the rows, the sums of shard and job, and the log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import monotonic

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from apps.episodes.ranked.closing import WHY_CLOSED
from apps.episodes.storing.bulk import copy_episodes
from apps.episodes.text import shortened, storable
from apps.failpoints import failpoint
from apps.jobs.changes import change
from apps.jobs.leases import faults
from apps.jobs.leases.claims import Claim, end_if_done, owned
from apps.jobs.models import Job, JobEvent, Shard
from apps.leases import LeaseLost
from apps.seasons.numbers import in_words, is_hidden
from gem.evaluation.facts import Facts
from gem.records import EpisodeRecord
from gem.validation import messages

CANCELLED = "A person cancelled it."
"""The failure of an episode that a person cancelled while it was played."""


@dataclass(frozen=True, slots=True)
class WorkerSeconds:
    """Seconds that a worker spent on playing since it last wrote."""

    busy: float = 0.0
    agent: float = 0.0
    """The part of `busy` in which the agent chose its actions."""


@transaction.atomic
def record_episodes(
    claim: Claim,
    records: Sequence[EpisodeRecord],
    worker_seconds: WorkerSeconds | None = None,
    notes: Sequence[str] = (),
) -> bool:
    """Store finished episodes. Returns whether the job ended with them.

    Args:
        notes: sentences about them for the log of the job.

    Raises:
        LeaseLost: if another worker owns the shard, or its job has ended. Nothing is written then.
    """
    worker_seconds = worker_seconds or WorkerSeconds()
    records = [claim.hide_seed(record) for record in records]
    shard = owned(claim).select_for_update().first()
    if shard is None:
        raise LeaseLost(f"shard {claim.number} of job {claim.job_id} is no longer ours")
    started = monotonic()
    opponent_id = claim.opponent.pk if claim.opponent else None
    at = timezone.now()
    facts = copy_episodes(claim.batch_id, claim.agent.pk, records, at, of_job=True, opponent_id=opponent_id)
    storing = monotonic() - started
    failpoint("copied")
    _add_to_sums(shard, records, facts, worker_seconds.busy + storing)
    Job.objects.filter(pk=claim.job_id).update(
        episodes_done=F("episodes_done") + len(records),
        turns_done=F("turns_done") + sum(record.turn_count for record in records),
        seconds_busy=F("seconds_busy") + worker_seconds.busy + storing,
        seconds_agent=F("seconds_agent") + worker_seconds.agent,
        seconds_storing=F("seconds_storing") + storing,
    )
    for note in notes:
        change(shard.job_id, JobEvent.Kind.EPISODES, storable(shortened(note, 400)), tone=JobEvent.Tone.WARN)
    _log_recorded(shard, records)
    if shard.state != Shard.State.DONE:
        return False
    return end_if_done(claim.job_id, "all episodes are done")


def _add_to_sums(shard: Shard, records: Sequence[EpisodeRecord], facts: Sequence[Facts], seconds: float) -> None:
    """Add the episodes to the shard's sums, which is progress. The last episode ends the shard."""
    count(shard, records, facts)
    if shard.orders:
        recorded_slots = {str(record.index) for record in records}
        shard.orders = {slot: order for slot, order in shard.orders.items() if slot not in recorded_slots}
    shard.seconds += seconds
    note_progress(shard)
    if shard.done >= shard.count:
        shard.state = Shard.State.DONE
        shard.let_go()
    shard.save()


def count(shard: Shard, records: Sequence[EpisodeRecord], facts: Sequence[Facts]) -> None:
    """Add these episodes to the sums of a shard. The caller saves it."""
    counted = [record for record in records if not record.failure]
    returns = [
        known.total_rewards[record.seat] if record.turns else 0.0
        for record, known in zip(records, facts, strict=True)
        if not record.failure
    ]
    shard.done += len(records)
    shard.errors += len(records) - len(counted)
    shard.unanswered += sum(record.failed_by == "agent" for record in records)
    shard.cancelled += sum(record.failure == CANCELLED for record in records)
    shard.tokens_in += sum(known.tokens_in for known in facts)
    shard.tokens_out += sum(known.tokens_out for known in facts)
    shard.won += sum(bool(record.success) for record in counted)
    shard.limited += sum(record.truncated and not record.success for record in counted)
    shard.turns += sum(record.turn_count for record in counted)
    shard.return_sum += sum(returns)
    shard.return_squares += sum(value * value for value in returns)
    faults.add_to(shard, records, [known.faults for known in facts])


def note_progress(shard: Shard) -> None:
    """Count attempts and setbacks anew, because a shard made progress. The caller saves the row."""
    shard.attempt, shard.setbacks = 1, 0


def _log_recorded(shard: Shard, records: Sequence[EpisodeRecord]) -> None:
    slots = [record.index for record in records]
    failures = [record for record in records if record.failure]
    tone = JobEvent.Tone.LOSS if failures else JobEvent.Tone.PLAIN
    if failures:
        first = failures[0]
        failure = WHY_CLOSED if is_hidden(first.identity.seed) else storable(shortened(first.failure, 300))
        cause = "no answer from the agent" if first.failed_by == "agent" else "environment error"
        cause = "dropped" if first.failure == CANCELLED else f"{cause}, not counted"
        text = f"{shard.env_id} seed {in_words(first.identity.seed)}: {cause}: {failure}"
        if len(failures) > 1:
            text += f" (and {len(failures) - 1} more)"
    elif shard.state == Shard.State.DONE:
        counted = shard.done - shard.errors
        mean = f", mean return {shard.return_sum / counted:.3f}" if counted else ""
        episodes = messages.count(shard.done, "episode")
        text = f"shard {shard.number} done: {episodes}{mean}"
    else:
        text = f"shard {shard.number}: {shard.done:,} of {shard.count:,} episodes"
    change(shard.job_id, JobEvent.Kind.EPISODES, text, tone=tone, slots=slots)
