"""Episodes of an evaluation that end in an error: play them again, count them as not solved, or leave them out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Generator, Iterable, Iterator
from itertools import chain

from apps.jobs.leases import CANCELLED
from gem.evaluation.spec import EvaluationSpec
from gem.records import EpisodeRecord
from gem.rollout import EpisodeRequest
from workers.playing.lease import LOST

RANKED_RETRIES = 2
"""How often an episode on a hidden seed is played again after an error of the environment, which is ours. What an agent
did not answer is never asked again."""

Rollout = Callable[[Iterable[EpisodeRequest]], Iterator[EpisodeRecord]]
"""Plays episodes, and yields their records as they end."""


def with_retries(
    rollout: Rollout,
    shards: Iterable[Iterable[EpisodeRequest]],
    retries: int,
    discard: Callable[[EpisodeRecord], None],
    kinds: Container[str] = ("environment", "unanswered"),
) -> Generator[EpisodeRecord, None, None]:
    """Play the requests, and those whose episode ends in an error again, up to `retries` times.

    The further tries begin when all other episodes have ended, or after those of the next shard have begun. Only the
    record of the last try is yielded.

    Args:
        shards: the requests of one shard after the other. They are read as places become free.
        discard: gets the record of each earlier try, whose tokens were spent.
        kinds: the errors (`error_kind`) after which an episode is played again.
    """
    begun: dict[int, EpisodeRequest] = {}
    tries: Counter[int] = Counter()
    failed: list[EpisodeRequest] = []

    def requests() -> Iterator[EpisodeRequest]:
        for shard in shards:
            due = failed.copy()
            failed.clear()
            for request in chain(shard, due):
                begun[request.index] = request
                yield request

    while True:
        for record in rollout(requests()):
            request = begun.pop(record.index)
            if tries[record.index] < retries and error_kind(record) in kinds:
                tries[record.index] += 1
                failed.append(request)
                discard(record)
            else:
                yield record
        if not failed:
            return
        shards = [()]  # what failed follows


def error_kind(record: EpisodeRecord) -> str:
    """The kind of error that a record ended with, as a specification names it.

    It is empty without one, if a person cancelled the episode, if its shard is lost, and if a budget cut it off.
    """
    if not record.failure or record.failure in (CANCELLED, LOST):
        return ""
    return {"environment": "environment", "agent": "unanswered"}.get(record.failed_by, "")


def count_as_failed(spec: EvaluationSpec, records: Iterable[EpisodeRecord]) -> list[str]:
    """Make the errors that count as not solved such results, with the return that they have so far.

    Returns a sentence about each, for the log of the job.
    """
    sentences = []
    for record in records:
        if error_kind(record) in spec.count_as_failed:
            cause = "no answer from the agent" if record.failed_by == "agent" else "environment error"
            place = f"{record.identity.env_id} seed {record.identity.seed}"
            sentences.append(f"{place}: {cause}, counted as not solved: {record.failure}")
            record.failure, record.failed_by, record.success = "", "", False
    return sentences
