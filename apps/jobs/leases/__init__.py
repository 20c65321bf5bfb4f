"""The operations of workers on jobs: claim shards, keep them, record their episodes, and give them back."""

from apps.jobs.leases.claims import (
    Claim,
    claim,
    claim_another,
    end_if_done,
    give_way,
    has_more,
    heartbeat,
    holds,
    owned,
    release,
    release_to_play_again,
    stop_over_budget,
)
from apps.jobs.leases.recording import CANCELLED, WorkerSeconds, note_progress, record_episodes
from apps.jobs.leases.setbacks import MAX_REASON_CHARS, MAX_SETBACKS, fail_attempt, fail_job, fail_shard, postpone, rest
from apps.jobs.leases.wishes import Wishes, leave_open, wishes

__all__ = [
    "CANCELLED",
    "MAX_REASON_CHARS",
    "MAX_SETBACKS",
    "Claim",
    "Wishes",
    "WorkerSeconds",
    "claim",
    "claim_another",
    "end_if_done",
    "fail_attempt",
    "fail_job",
    "fail_shard",
    "give_way",
    "has_more",
    "heartbeat",
    "holds",
    "leave_open",
    "note_progress",
    "owned",
    "postpone",
    "record_episodes",
    "release",
    "release_to_play_again",
    "rest",
    "stop_over_budget",
    "wishes",
]
