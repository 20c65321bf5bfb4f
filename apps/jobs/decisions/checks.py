"""Which job an evaluation may be compared with, so that it can stop as soon as the comparison is decided."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q
from pydantic import ValidationError

from apps.accounts.models import User
from apps.jobs.decisions.rows import Decision
from apps.jobs.errors import CannotDecide
from apps.jobs.models import Job
from apps.jobs.results.environments import environments_of
from gem import registry
from gem.evaluation.data import will_play_on
from gem.evaluation.spec import EvaluationSpec

GROUP = "group"
"""In place of a job's id: the other job of the same submission."""
_SAME = {
    "repeats": "number of tries at each seed",
    "max_turns": "turn limit",
    "max_episode_tokens": "token limit of an episode",
    "max_episode_money": "money limit of an episode",
    "opponent": "opponent",
    "wrappers": "choice of wrappers",
    "tools_in_words": "choice of tools",
    "count_as_failed": "choice of what counts as not solved",
}
"""What has to be the same in both specifications, in words."""


def check(owner: User | None, specs: Sequence[EvaluationSpec]) -> None:
    """Check the comparisons that the jobs of a submission shall stop by.

    Raises:
        CannotDecide: if there is no such job, or it plays something else.
    """
    for spec in specs:
        if spec.stop_against == GROUP:
            _check_group(specs)
        elif spec.stop_against:
            other = find_other(owner, spec.stop_against)
            _check_same(spec, _spec_of(other), f"The job {other.pk}")
            _check_versions(spec, other)


def plan(jobs: Sequence[Job], specs: Sequence[EvaluationSpec]) -> list[Decision]:
    """The decisions of the jobs of a submission, which was checked."""
    decisions = []
    for job, spec in zip(jobs, specs, strict=True):
        against = spec.stop_against
        if against == GROUP:
            against = next(other.pk for other in jobs if other != job)
        if against:
            decisions.append(Decision(job=job, against_id=against, planned=len(places_of(spec))))
    return decisions


def plays_the_same(spec: EvaluationSpec, job: Job) -> bool:
    """Whether an evaluation with this specification may be compared with a job, as far as its specification says."""
    if not set(spec.env_ids) <= set(job.spec["env_ids"]):
        return False
    try:
        _check_same(spec, _spec_of(job), "It")
    except CannotDecide:
        return False
    return True


def find_other(owner: User | None, job_id: str) -> Job:
    """The evaluation with this id.

    Raises:
        CannotDecide: if there is none that this person may see.
    """
    evaluations = Job.objects.evaluations()
    seen = evaluations.filter(Q(owner=None)) if owner is None else evaluations.visible_to(owner)
    other = seen.filter(pk=job_id).first()
    if other is None:
        raise CannotDecide(
            f"There is no evaluation {job_id} that you may see. Copy the id of a job from its page, or leave it out."
        )
    return other


def places_of(spec: EvaluationSpec) -> list[tuple[str, int]]:
    """The seeds that looks are taken at, in their planned order: the first of each environment, then the second ones.

    Environments with several seats have fewer seeds; what the others have more is never looked at.
    """
    firsts = {part.env_id: part.first_seed for part in spec.parts}
    rounds = min(-(-part.episodes // part.seats) for part in spec.parts)
    return [(env_id, first + number) for number in range(rounds) for env_id, first in firsts.items()]


# ------------------------------------------------------------------ checks


def _check_group(specs: Sequence[EvaluationSpec]) -> None:
    if len(specs) != 2:
        raise CannotDecide(
            f"A comparison needs two agents, and there {'is one' if len(specs) == 1 else f'are {len(specs)}'}. Choose "
            f"two "
            "agents, or name the job to compare with."
        )
    _check_same(specs[0], specs[1], f"The agent {specs[1].agent}")


def _check_same(spec: EvaluationSpec, other: EvaluationSpec, whose: str) -> None:
    """Check that all seeds of the one are seeds of the other, and that both are played in the same way."""
    for name, words in _SAME.items():
        if getattr(spec, name) != getattr(other, name):
            raise CannotDecide(
                f"{whose} has a different {words}, so the difference would not come from the agents alone."
            )
    theirs = {part.env_id: part for part in other.parts}
    for part in spec.parts:
        same = theirs.get(part.env_id)
        if same is None:
            raise CannotDecide(f"{whose} does not play {part.env_id}. Choose the environments that both play.")
        first, last = part.first_seed, part.seed_and_seat(part.episodes - 1)[0]
        end = same.seed_and_seat(same.episodes - 1)[0]
        if first < same.first_seed or last > end or part.episodes % part.seats:
            raise CannotDecide(
                f"{whose} plays {part.env_id} with the seeds {same.first_seed} to {end}, and this job with {first} to "
                f"{last}. Choose seeds that both play."
            )


def _check_versions(spec: EvaluationSpec, other: Job) -> None:
    """Check that what the other job has played is still the same game, with the same data."""
    for env_id, played in environments_of(other, spec.env_ids).items():
        data = will_play_on(env_id)
        if played["env_version"] != registry.spec(env_id).version:
            raise CannotDecide(
                f"The job {other.pk} has played another version of {env_id}. Play it again, and compare."
            )
        if data is not None and played["data_hash"] not in ("", data.data_hash):
            raise CannotDecide(
                f"The job {other.pk} has played {env_id} on other data, so the same seeds are different problems. "
                f"Play it again, and compare."
            )


def _spec_of(job: Job) -> EvaluationSpec:
    try:
        return EvaluationSpec.model_validate(job.spec)
    except ValidationError as error:
        raise CannotDecide(
            f"The job {job.pk} has environments that no longer exist, so nothing can be compared with it."
        ) from error
