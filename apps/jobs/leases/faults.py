"""Counts of what a shard's episodes were played with and how: actions that were not accepted, and the data.

An environment marks an action that it cannot understand with the error "format" in its info, and one that its rules do
not allow with "rule" (see `gem.core`).
"""

from __future__ import annotations

from collections.abc import Sequence

from apps.jobs.models import Shard
from gem.evaluation.faults import Faults
from gem.records import EpisodeRecord

MAX_SOURCE_CHARS = 200


def add_to(shard: Shard, records: Sequence[EpisodeRecord], faults: Sequence[Faults]) -> None:
    """Add the actions and the data of these episodes to the shard. The caller has added them to `done`, and saves it.

    A shard that began before actions were counted has no counts, and gets none, because they would miss its first
    episodes.
    """
    if shard.actions is None and shard.done == len(records):  # it was queued before and begins now
        shard.actions = shard.unreadable = shard.forbidden = 0
    if shard.actions is not None and shard.unreadable is not None and shard.forbidden is not None:
        shard.actions += sum(one.actions for one in faults)
        shard.unreadable += sum(one.unreadable for one in faults)
        shard.forbidden += sum(one.forbidden for one in faults)
    for record in records:
        data_hash = record.identity.data_hash
        if data_hash and data_hash not in shard.data:
            source = record.first_info.get("data", {}).get("source", "") if record.first_info else ""
            shard.data = {**shard.data, data_hash: str(source)[:MAX_SOURCE_CHARS]}
