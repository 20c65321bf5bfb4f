"""The operations of workers on jobs: claim shards, keep them, record their episodes, and give them back."""

from apps.jobs.leases.claims import (
    Claim,
    WorkerSeconds,
    claim,
    give_way,
    heartbeat,
    holds,
    note_progress,
    owned,
    record_episodes,
    release,
    stop_over_budget,
)
from apps.jobs.leases.setbacks import MAX_REASON_CHARS, MAX_SETBACKS, fail_attempt, fail_job, fail_shard, postpone, rest

__all__ = [
    "MAX_REASON_CHARS",
    "MAX_SETBACKS",
    "Claim",
    "WorkerSeconds",
    "claim",
    "fail_attempt",
    "fail_job",
    "fail_shard",
    "give_way",
    "heartbeat",
    "holds",
    "note_progress",
    "owned",
    "postpone",
    "record_episodes",
    "release",
    "rest",
    "stop_over_budget",
]
