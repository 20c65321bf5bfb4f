"""Looks at comparisons under way, and the end of jobs whose comparison is decided.

A worker that has recorded episodes looks at all comparisons with its job: those that the job stops by, and those that
other jobs stop by. The numbers of a look are written while the rows of both directions are locked, so that two jobs
that stop by each other agree. Their ends are transactions of their own: a worker that dies in between leaves a
decision, and the next look of another one ends the job.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from django.db import transaction
from django.db.models import Q

from apps.episodes.models import Episode
from apps.jobs.changes import drop_open_shards, end, lock_shards
from apps.jobs.decisions.checks import places_of
from apps.jobs.decisions.reading import sentence_of
from apps.jobs.decisions.rows import Decision
from apps.jobs.models import Job
from gem.evaluation.comparison import power, sequential
from gem.evaluation.comparison.pairs import pair
from gem.evaluation.comparison.runs import Run, ScoredEpisode
from gem.evaluation.comparison.sequential import Look, Place
from gem.evaluation.spec import EvaluationSpec, read_stored

LOOK_SHARE = 0.03
"""A look is taken when this share of episodes is new, so that all looks together read few times what one reads."""


def look(job_id: str) -> bool:
    """Look at the comparisons with a job that has new episodes. Returns whether the job was stopped by it.

    Call it outside of any transaction, because it locks all shards of jobs that it stops.
    """
    is_stopped = False
    for decision in Decision.objects.filter(Q(job=job_id) | Q(against=job_id)).select_related("job", "against"):
        found = _take(decision)
        if found.is_decided and not found.job.over:
            stop(found)
            is_stopped = is_stopped or found.job_id == job_id
    return is_stopped


def last_look(job_id: str) -> str:
    """Look once more at the comparison of a job of which all episodes are played. Returns what it says, or nothing."""
    decision = Decision.objects.filter(job=job_id).select_related("job", "against").first()
    return "" if decision is None else sentence_of(_take(decision, is_last=True))


def stop(decision: Decision) -> None:
    """End a job whose comparison is decided. Finished episodes are kept; what is under way is broken off."""
    with transaction.atomic():
        lock_shards(decision.job_id)
        sentence = sentence_of(decision)
        if end(decision.job_id, Job.State.DECIDED, sentence, f"stopped. {sentence}"):
            drop_open_shards(decision.job_id, Job.State.DECIDED)


# ------------------------------------------------------------------ one look


def _take(decision: Decision, *, is_last: bool = False) -> Decision:
    """Take a look, if it is due, and store it. Returns the row as it is then."""
    job, other = decision.job, decision.against
    if other is None or decision.is_decided:
        return decision
    done = sum(Job.objects.filter(pk__in=[job.pk, other.pk]).values_list("episodes_done", flat=True))
    if done <= decision.looked_at * (1 + LOOK_SHARE) and not is_last:
        return decision
    found = look_of(job, other)
    with transaction.atomic():
        directions = Q(job=job.pk, against=other.pk) | Q(job=other.pk, against=job.pk)
        rows = list(Decision.objects.select_for_update().filter(directions).order_by("job"))
        if not any(row.is_decided or row.looked_at > done for row in rows):
            for row in rows:
                _store(row, found if row.job_id == job.pk else _mirrored(found), done)
    return Decision.objects.select_related("job", "against").get(pk=decision.pk)


def _store(row: Decision, found: Look, done: int) -> None:
    row.seeds, row.evidence, row.is_decided, row.low, row.high = found
    row.looked_at = done
    row.save()


def _mirrored(found: Look) -> Look:
    """The look of the other job."""
    return found._replace(low=-found.high, high=-found.low)


def look_of(job: Job, other: Job) -> Look:
    """Compare what two jobs have played so far, at the complete beginning of the plan of the first one."""
    spec = read_stored(job.spec)
    places = places_of(spec)
    first, second = _read(job, spec), _read(other, read_stored(other.spec))
    finished = first.finished & second.finished
    same = {place for place in finished if first.identities[place] == second.identities[place]}
    pairs = [one for one in pair(first.run, second.run, "success").pairs if (one.env_id, one.seed) in same]
    planned = power.smallest_difference(len(places), power.COIN_DEVIATION)
    bets = sequential.bets(None if planned is None else min(1.0, planned), power.COIN_DEVIATION)
    return sequential.look(places, finished, pairs, bets)


class _Played(NamedTuple):
    """What a job has played so far."""

    run: Run
    finished: set[Place]
    """The seeds of which all seats and tries have ended."""
    identities: dict[Place, tuple[int, str]]
    """The version and the data that a seed was played on."""


def _read(job: Job, spec: EvaluationSpec) -> _Played:
    rows = (
        Episode.objects.filter(batch=job.batch_id, slot__isnull=False, env_id__in=spec.env_ids)
        .exclude(status__in=[Episode.Status.RUNNING, Episode.Status.ABANDONED])
        .values_list("env_id", "seed", "scored_seat", "success", "status", "env_version", "data_hash")
    )
    counts: Counter[Place] = Counter()
    identities, episodes = {}, []
    for env_id, seed, seat, success, status, version, data_hash in rows.iterator():
        place = (env_id, seed)
        counts[place] += 1
        identities[place] = (version, data_hash)
        is_failed = status == Episode.Status.FAILED
        episodes.append(ScoredEpisode(env_id, seed, seat, 0, 0.0, bool(success), failed=is_failed))
    seats = {part.env_id: part.seats for part in spec.parts}
    finished = _complete(counts.items(), {env_id: number * spec.repeats for env_id, number in seats.items()})
    return _Played(Run("", episodes), finished, identities)


def _complete(counts: Iterable[tuple[Place, int]], needed: dict[str, int]) -> set[Place]:
    return {place for place, count in counts if count >= needed[place[0]]}
