"""What is compared: up to six sides, each a job or an agent with finished evaluations.

For an agent, the evaluation that counts in an environment is the newest one with the seeds that most of the sides have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.jobs import pages
from apps.jobs.books.reading import books_of, cost_of
from apps.jobs.models import Job, JobQuerySet
from apps.jobs.results import Tally
from gem.evaluation.compare import MAX_RUNS

LETTERS = "ABCDEF"
MAX_JOBS_OF_AGENT = 50
"""The newest evaluations of an agent among which those of the environments are looked for."""
_SEED_FIELDS = ("benchmark", "benchmark_version", "hidden_seeds", "seed")
"""The fields of a specification that say which seeds are played, but for their number."""
_Seeds = tuple[object, ...]
"""The values of these fields. Evaluations with the same values share the seeds of the shorter one."""
_Evaluations = Mapping[str, Mapping[_Seeds, str]]
"""By environment, the ids of evaluations by their seeds, the newest first."""


@dataclass(frozen=True, slots=True)
class Side:
    """A job, or an agent with the jobs that were taken for it."""

    letter: str
    agent: Agent
    jobs: Sequence[Job]
    is_agent: bool
    """Whether the agent was chosen, and not a job."""
    env_ids: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The environments that count of each job, by its id; of jobs that are not in it, all."""
    name: str = ""
    """The name of the agent, with the beginning of the job's id where several sides have the same agent."""

    @property
    def entry(self) -> tuple[str, str]:
        """Its entry in the address of the page."""
        return ("agent", self.agent.slug) if self.is_agent else ("job", self.jobs[0].pk)

    @property
    def tally(self) -> Tally:
        """The sums of the environments that count."""
        return Tally.of(
            shard
            for job in self.jobs
            for shard in job.shards.all()
            if job.pk not in self.env_ids or shard.env_id in self.env_ids[job.pk]
        )

    @property
    def is_decided(self) -> bool:
        """Whether a comparison has stopped it."""
        return any(job.state == Job.State.DECIDED for job in self.jobs)

    @property
    def remarks(self) -> list[str]:
        """What a reader has to know of how far it was played."""
        tally = self.tally
        found = []
        if tally.is_partial:
            state = "" if self.is_agent else f" The job is {self.jobs[0].state_in_words}."
            found.append(
                f"{self.name} is partial: {tally.n:,} of {tally.needed:,} episodes count, and only these are "
                f"compared.{state}"
            )
        if self.is_decided:
            found.append(
                f"{self.name} stopped as soon as a comparison was decided. The intervals and the p-values below "
                f"assume a fixed number of seeds, which is too optimistic here; use the interval on the page of its "
                f"job."
            )
        return found

    def cost(self, viewer: Viewer) -> Decimal | None:
        """What its requests cost; None if that is not known, or this person may not see it, or only parts count."""
        if len(self.jobs) != 1 or self.env_ids or not pages.may_see_set_up(self.jobs[0], viewer):
            return None
        return cost_of(self.jobs[0], books_of(self.jobs[0].pk))


def sides_of(viewer: Viewer, job_ids: Iterable[str], slugs: Iterable[str], env_ids: Sequence[str]) -> list[Side]:
    """The sides that somebody asked for, jobs first. Those that this person may not see are not there.

    Args:
        env_ids: the environments to compare on; all that the jobs have, if it is empty.
    """
    keys = list(dict.fromkeys(job_ids))[:MAX_RUNS]
    visible = Job.objects.visible_to(viewer).evaluations()
    found = {job.pk: job for job in visible.for_page().filter(pk__in=keys)}
    jobs = [found[key] for key in keys if key in found]
    wanted = list(dict.fromkeys(slugs))[: MAX_RUNS - len(jobs)]
    rows = {agent.slug: agent for agent in Agent.objects.visible_to(viewer).filter(slug__in=wanted)}
    agents = [rows[slug] for slug in wanted if slug in rows]
    names = [job.agent.name for job in jobs] + [agent.name for agent in agents]
    sides = [
        Side(letter, job.agent, [job], False, _of_job(job, env_ids), _name_of_job(job, names))
        for letter, job in zip(LETTERS, jobs, strict=False)
    ]
    played = {agent.pk: _evaluations(agent, viewer) for agent in agents}
    chosen = env_ids or _environments(jobs, list(played.values()))
    of_jobs = [{env_id: {_seeds(job.spec): job.pk} for env_id in job.spec["env_ids"]} for job in jobs]
    seeds = _most_shared([*of_jobs, *played.values()], chosen)
    for letter, agent in zip(LETTERS[len(sides) :], agents, strict=False):
        sides.append(_side_of_agent(letter, agent, played[agent.pk], seeds))
    return sides


def _seeds(spec: Mapping[str, Any]) -> _Seeds:
    return tuple(spec.get(name) for name in _SEED_FIELDS)


def _evaluations(agent: Agent, viewer: Viewer) -> _Evaluations:
    """The newest finished evaluations of an agent for each environment and seeds, among those that lists show."""
    done = Job.objects.listed_for(viewer).evaluations().filter(agent=agent, state=Job.State.DONE)
    fields = ("pk", "spec__env_ids", *(f"spec__{name}" for name in _SEED_FIELDS))
    found: dict[str, dict[_Seeds, str]] = {}
    for key, env_ids, *seeds in done.order_by("-created").values_list(*fields)[:MAX_JOBS_OF_AGENT]:
        for env_id in env_ids:
            found.setdefault(env_id, {}).setdefault(tuple(seeds), key)
    return found


def _most_shared(sides: Sequence[_Evaluations], env_ids: Sequence[str]) -> dict[str, list[_Seeds]]:
    """By environment, the seeds that sides have: those of most sides first, then those of the newest evaluations."""
    shared: dict[str, list[_Seeds]] = {}
    for env_id in env_ids:
        numbers = Counter(seeds for side in sides for seeds in side.get(env_id, ()))
        shared[env_id] = [seeds for seeds, _ in numbers.most_common()]
    return shared


def candidates(viewer: Viewer, words: str, chosen: Sequence[Side], most: int) -> tuple[list[Job], list[Agent]]:
    """Jobs and agents that can be added: the newest ones, or those with these words."""
    taken = [job.pk for side in chosen if not side.is_agent for job in side.jobs]
    listed = Job.objects.listed_for(viewer).evaluations().filter(archived=None)
    found = listed.filed_under(viewer, words=words).exclude(pk__in=taken)
    jobs = list(found.select_related("agent", "owner", "batch").order_by("-created")[:most])
    return jobs, _agents(viewer, listed, words, [side.agent.pk for side in chosen if side.is_agent], most // 2)


def _agents(viewer: Viewer, listed: JobQuerySet, words: str, taken: Sequence[int], most: int) -> list[Agent]:
    """Agents whose evaluations have finished, the one that was evaluated last first."""
    done = listed.filter(state=Job.State.DONE).order_by("-created")
    if words:
        done = done.filter(agent__name__icontains=words)
    newest = dict.fromkeys(done.values_list("agent", flat=True)[: 10 * most])
    rows = Agent.objects.named_to(viewer).exclude(pk__in=taken).in_bulk(list(newest))
    return [rows[key] for key in newest if key in rows][:most]


def _of_job(job: Job, env_ids: Sequence[str]) -> dict[str, list[str]]:
    return {job.pk: [env_id for env_id in job.spec["env_ids"] if env_id in env_ids]} if env_ids else {}


def _name_of_job(job: Job, names: Sequence[str]) -> str:
    return job.agent.name if names.count(job.agent.name) == 1 else f"{job.agent.name} {job.pk[:4].upper()}"


def _environments(jobs: Sequence[Job], played: Sequence[_Evaluations]) -> list[str]:
    """The environments of the jobs; without jobs, those that all agents have played, or else any of them."""
    if jobs:
        return list(dict.fromkeys(env_id for job in jobs for env_id in job.spec["env_ids"]))
    anywhere = dict.fromkeys(env_id for own in played for env_id in own)
    everywhere = [env_id for env_id in anywhere if all(env_id in own for own in played)]
    return everywhere or list(anywhere)


def _side_of_agent(
    letter: str, agent: Agent, played: _Evaluations, seeds_by_env: Mapping[str, Sequence[_Seeds]]
) -> Side:
    by_job: dict[str, list[str]] = {}
    for env_id, in_order in seeds_by_env.items():
        own = played.get(env_id, {})
        key = next((own[seeds] for seeds in in_order if seeds in own), None)
        if key is not None:
            by_job.setdefault(key, []).append(env_id)
    rows = Job.objects.for_page().in_bulk(list(by_job))
    jobs = [rows[key] for key in by_job if key in rows]
    return Side(letter, agent, jobs, True, by_job, agent.name)
