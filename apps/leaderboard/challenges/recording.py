"""Making a row of a file whose episodes all agree: a job that was played elsewhere, with its episodes and its proof.

The episodes are recorded group by group in a batch without a job, which nobody sees. One short transaction at the end
makes the job, its shards and its scores, so that a row appears whole or not at all. The scheduler deletes the batches
of attempts that came to no end (`apps.jobs.afterwards.operations.erase`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

import gem
from apps.admission.models import name_of
from apps.agents import operations as agents
from apps.agents.models import Agent
from apps.episodes.models import Batch
from apps.episodes.storing.bulk import copy_episodes
from apps.jobs.changes import change
from apps.jobs.leases.recording import count
from apps.jobs.models import Job, JobEvent, Shard
from apps.leaderboard.challenges import lines, reports
from apps.leaderboard.models import Challenge, Reexecution, Score
from apps.leaderboard.models.challenges import ChallengeQuerySet
from apps.leaderboard.operations import compute_scores
from apps.leaderboard.proofs.checks import certify
from apps.leases import LeaseLost
from apps.seasons.numbers import first_number, is_hidden
from apps.visibility import Visibility
from gem.errors import InvalidData
from gem.evaluation.spec import HIDDEN, read_stored
from gem.records import EpisodeRecord
from gem.verification.challenges import as_stored
from gem.verification.reexecution import TAKEN

GROUP, GROUP_TURNS = 200, 4_000
"""Episodes, and turns, that are in memory, and written, at a time, unless one episode has more turns."""


def record(challenge: Challenge, owned: ChallengeQuerySet) -> None:
    """Make the row of a challenge, all of whose episodes were executed again and agree.

    If outputs of tools were taken from the records, nothing proves the rewards, and the row is reported.

    Raises:
        LeaseLost: another worker has the challenge; nobody sees anything of what was written.
        InvalidData: the benchmark has changed since, so nothing ranks.
    """
    shards = _shards(challenge)
    agent, batch = _begin(challenge, owned)
    for records in _groups(challenge):
        with transaction.atomic():
            facts = copy_episodes(batch.pk, agent.pk, records, timezone.now(), of_job=True)
        for env_id, places in _by_environment(records).items():
            count(shards[env_id], [records[place] for place in places], [facts[place] for place in places])
    if any(note.endswith(TAKEN) for note in challenge.notes):
        _end_reported(challenge, owned, list(shards.values()))
    else:
        _end_verified(challenge, owned, list(shards.values()), agent, batch)


def _begin(challenge: Challenge, owned: ChallengeQuerySet) -> tuple[Agent, Batch]:
    """The agent, and a new batch for the episodes."""
    with transaction.atomic():
        if owned.select_for_update(of=("self",)).first() is None:
            raise LeaseLost(f"{challenge} is no longer ours")
        agent = agents.outside(challenge.owner, challenge.agent_name, challenge.declared)
        batch = Batch.objects.create(
            kind=Batch.Kind.JOB,
            visibility=Visibility.PRIVATE,
            season=challenge.season,
            submission=challenge.submission,
        )
        challenge.batch = batch
        owned.update(batch=batch)
    return agent, batch


def batches() -> QuerySet[Batch]:
    """The batches that are being recorded now."""
    return Batch.objects.filter(pk__in=Challenge.objects.waiting().exclude(batch=None).values("batch"))


def _shards(challenge: Challenge) -> dict[str, Shard]:
    """A shard for each environment, which begins at the numbers that stand for its seeds."""
    spec = read_stored(challenge.spec)
    shards, slot = {}, 0
    for number, part in enumerate(spec.parts, start=1):
        seed = part.first_seed
        if is_hidden(seed):
            seed += first_number(challenge.season_id, challenge.submission) - HIDDEN
        shards[part.env_id] = Shard(
            number=number,
            env_id=part.env_id,
            first_slot=slot,
            first_seed=seed,
            count=part.episodes,
            state=Shard.State.DONE,
        )
        slot += part.episodes
    return shards


def _groups(challenge: Challenge) -> Iterator[list[EpisodeRecord]]:
    group: list[EpisodeRecord] = []
    turns = 0
    for _, stored in lines.episodes(challenge.path):
        group.append(as_stored(stored.record))
        turns += stored.record.turn_count
        if len(group) >= GROUP or turns >= GROUP_TURNS:
            yield group
            group, turns = [], 0
    if group:
        yield group


def _by_environment(records: Sequence[EpisodeRecord]) -> dict[str, list[int]]:
    """The places of the records of each environment."""
    found: dict[str, list[int]] = defaultdict(list)
    for place, each in enumerate(records):
        found[each.identity.env_id].append(place)
    return found


def _end_verified(
    challenge: Challenge, owned: ChallengeQuerySet, shards: Sequence[Shard], agent: Agent, batch: Batch
) -> None:
    """Make the job, its scores and its certificate, and show them. Scores are computed before anything is locked."""
    job = Job(
        owner=challenge.owner,
        agent=agent,
        spec={**challenge.spec, "agent": agent.slug},
        batch=batch,
        state=Job.State.DONE,
        episodes_total=sum(shard.count for shard in shards),
        episodes_done=sum(shard.done for shard in shards),
        turns_done=sum(shard.turns for shard in shards),
        started=challenge.created,
        ended=challenge.sent,
    )
    scores = compute_scores(job)
    if not scores:
        raise InvalidData(
            f"The benchmark {challenge.benchmark} has changed since the seeds were drawn, so the row would not rank. "
            "Draw another challenge."
        )
    with transaction.atomic():
        _store(challenge, job, shards, scores)
        _end(challenge, owned, Challenge.State.VERIFIED, job)
        certify(Reexecution.objects.select_related("job__agent", "job__batch__season", "job__owner").get(pk=job.pk))


def _store(challenge: Challenge, job: Job, shards: Sequence[Shard], scores: Sequence[Score]) -> None:
    """Write the job with all that belongs to it, and what its re-execution has found."""
    job.save(force_insert=True)
    for part in shards:
        part.job = job
    Shard.objects.bulk_create(shards)
    Batch.objects.filter(pk=job.batch_id).update(visibility=challenge.visibility)
    text = f"played elsewhere for the challenge {challenge.pk}: {job.episodes_total:,} episodes were sent"
    change(job.pk, JobEvent.Kind.SUBMITTED, text)
    Score.objects.bulk_create(scores)
    Reexecution.objects.create(
        job=job,
        person=name_of(challenge.owner_id),
        leaves=challenge.leaves,
        turns=challenge.turns,
        notes=challenge.notes,
        seconds=challenge.seconds,
        engine_version=gem.__version__,
    )


@transaction.atomic
def _end_reported(challenge: Challenge, owned: ChallengeQuerySet, shards: Sequence[Shard]) -> None:
    """Make a row of the numbers alone. Nothing proves the episodes, so they are not shown."""
    reports.of_challenge(challenge, shards)
    _end(challenge, owned, Challenge.State.REPORTED, None)


def _end(challenge: Challenge, owned: ChallengeQuerySet, state: Challenge.State, job: Job | None) -> None:
    """Give the challenge its last state.

    Raises:
        LeaseLost: another worker has it; the transaction of the caller writes nothing.
    """
    if not owned.release(state=state, job=job, ended=timezone.now(), leaves=[]):
        raise LeaseLost(f"{challenge} is no longer ours")
