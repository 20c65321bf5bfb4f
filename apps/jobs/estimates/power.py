"""How small a difference of two agents the jobs of a submission can show, and how many seeds another one needs.

What decides is how much the difference varies from seed to seed. Where both agents have played the same seeds of these
environments before, that is known: agents mostly fail on the same seeds, so the difference varies less than the
results. Otherwise it is what the results of the one agent would give if those of the other had nothing to do with them,
or, if nothing was played, the most that it can be.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from zlib import crc32

from apps.agents.models import Agent
from apps.jobs.comparisons.episodes import episodes_of
from apps.jobs.estimates.paces import Pace, paces
from apps.jobs.models import Job, JobQuerySet
from apps.jobs.results.cached import shared_of_all
from gem.evaluation.comparison import power
from gem.evaluation.comparison.differences import difference
from gem.evaluation.comparison.pairs import pair
from gem.evaluation.comparison.runs import Run
from gem.evaluation.intervals import MIN_SEEDS
from gem.evaluation.spec import EvaluationPart, EvaluationSpec

MAX_AGENTS = 4
"""The first agents of a submission whose pairs are looked at."""
MAX_JOBS = 12
"""The newest jobs of an agent in which evidence is looked for."""
MAX_EPISODES = 10_000
"""Larger jobs are no evidence, because reading them would take too long for a form."""


class Basis(StrEnum):
    """What is known about the variation of the difference."""

    PAIRED = "paired"
    """Both agents have played the same seeds."""
    UNPAIRED = "unpaired"
    """Only the results of single agents are known."""
    NOTHING = "nothing"
    """Neither agent has played these environments."""


@dataclass(frozen=True, slots=True)
class Power:
    """What the seeds of a submission can show about two agents."""

    first: Agent
    second: Agent | None
    """None for another agent that is as good as the first."""
    seeds: int
    """The planned seeds of all environments."""
    environments: int
    deviation: float
    """The standard deviation of the seeds' differences in solved shares."""
    basis: Basis
    evidence: int = 0
    """The earlier seeds that it rests on; without pairs, the earlier episodes."""
    jobs: tuple[Job, ...] = ()
    """The earlier jobs with the same seeds."""

    @property
    def smallest(self) -> float | None:
        """The smallest difference that the seeds show in 80 % of comparisons; None below 10 seeds."""
        return power.smallest_difference(self.seeds, self.deviation)

    def seeds_needed(self, wanted: float) -> int:
        """The seeds of all environments that show this difference in 80 % of comparisons, as many of each one."""
        needed = power.seeds_needed(wanted, self.deviation)
        return -(-needed // self.environments) * self.environments


def powers(
    agents: Sequence[Agent],
    specs: Sequence[EvaluationSpec],
    known: JobQuerySet,
    own_paces: Mapping[int, Mapping[str, Pace]] | None = None,
) -> list[Power]:
    """What a submission can show about each pair of its agents, or about its only agent and another one.

    Args:
        agents: those of the specifications, in their order.
        known: the jobs that may be evidence: those that the person may know of.
        own_paces: the paces of agents by their keys, as far as the caller has read them.
    """
    players = list(zip(agents, specs, strict=True))[:MAX_AGENTS]
    pairs: list[tuple[tuple[Agent, EvaluationSpec], Agent | None]]
    pairs = [(first, second[0]) for first, second in itertools.combinations(players, 2) if _same(first[1], second[1])]
    if len(players) == 1:
        other = known.evaluations().filter(pk=specs[0].stop_against or "").select_related("agent").first()
        pairs = [(players[0], None if other is None else other.agent)]
    evidence = {agent.pk: _candidates(agent, specs[0], known) for agent in _distinct(pairs)}
    own_paces = own_paces or {}
    return [_power(first, second, spec, evidence, known, own_paces) for (first, spec), second in pairs]


def wanted_points(text: str) -> float | None:
    """The difference of shares that somebody typed in points; None if it is none from 0.1 to 100."""
    try:
        points = float(text.replace(",", ".").replace("%", "").strip())
    except ValueError:
        return None
    return points / 100 if 0.1 <= points <= 100 else None


def _same(first: EvaluationSpec, second: EvaluationSpec) -> bool:
    return first.env_ids == second.env_ids


def _distinct(pairs: Iterable[tuple[tuple[Agent, EvaluationSpec], Agent | None]]) -> list[Agent]:
    """The agents that have somebody to be compared with."""
    found = [agent for (first, _), second in pairs if second is not None for agent in (first, second)]
    return list({agent.pk: agent for agent in found}.values())


def _power(
    first: Agent,
    second: Agent | None,
    spec: EvaluationSpec,
    evidence: Mapping[int, Sequence[Job]],
    known: JobQuerySet,
    own_paces: Mapping[int, Mapping[str, Pace]],
) -> Power:
    parts = [part for part in spec.parts if part.repeat == 0]
    seeds = sum(-(-part.episodes // part.seats) for part in parts)
    plan = first, second, seeds, len(parts)
    if second is not None:
        pairs = itertools.product(evidence[first.pk], evidence[second.pk])
        for one, other in sorted(pairs, key=lambda jobs: -min(job.episodes_done for job in jobs)):
            if one != other and _share_seeds(one, other):
                deviation, count = _deviation(one, other, spec)
                if deviation > 0:
                    return Power(*plan, deviation, Basis.PAIRED, count, (one, other))
    paces_by_agent = {
        agent.pk: own_paces[agent.pk] if agent.pk in own_paces else paces(agent, spec.env_ids, spec.tools, known)
        for agent in (first, second or first)
    }
    return _unpaired(plan, parts, paces_by_agent)


def _unpaired(
    plan: tuple[Agent, Agent | None, int, int],
    parts: Sequence[EvaluationPart],
    paces_by_agent: Mapping[int, Mapping[str, Pace]],
) -> Power:
    """What is known without pairs: the variances of the agents' results, or the most that they can be."""
    first, second, *_ = plan
    own = [paces_by_agent[agent.pk] for agent in (first, second or first)]
    if not any(own):
        return Power(*plan, power.COIN_DEVIATION, Basis.NOTHING)
    variance = sum(_variance(found.get(part.env_id)) for found in own for part in parts) / len(parts)
    evidence = sum(pace.episodes for found in own[: 2 if second is not None else 1] for pace in found.values())
    return Power(*plan, math.sqrt(variance), Basis.UNPAIRED, evidence)


def _variance(pace: Pace | None) -> float:
    """The variance of whether a seed is solved, drawn towards a coin's as if two more episodes had been played."""
    if pace is None:
        return 0.25
    share = (pace.solved * pace.episodes + 1) / (pace.episodes + 2)
    return share * (1 - share)


def _candidates(agent: Agent, spec: EvaluationSpec, known: JobQuerySet) -> list[Job]:
    """The newest jobs of an agent that have played all these environments in the same way, and not stopped early."""
    jobs = known.evaluations().filter(agent=agent, episodes_done__gte=MIN_SEEDS, episodes_done__lte=MAX_EPISODES)
    jobs = jobs.filter(spec__env_ids__contains=list(spec.env_ids)).exclude(state=Job.State.DECIDED)
    newest = jobs.select_related("agent").order_by("-created")
    return [job for job in newest[:MAX_JOBS] if _is_like(job, spec)]


def _is_like(job: Job, spec: EvaluationSpec) -> bool:
    plain = spec.model_dump(mode="json", include={"repeats", "max_turns", "tools", "wrappers", "opponent"})
    return all(job.spec.get(name, plain[name]) == plain[name] for name in plain)


def _share_seeds(one: Job, other: Job) -> bool:
    """Whether two jobs have enough seeds in common, by their specifications."""
    ranges = [(job.spec["seed"], job.spec["seed"] + job.spec["episodes_per_env"]) for job in (one, other)]
    return bool(min(end for _, end in ranges) > max(start for start, _ in ranges))


def _deviation(one: Job, other: Job, spec: EvaluationSpec) -> tuple[float, int]:
    """The standard deviation of the seeds' differences of two jobs, and the number of seeds; shared by requests."""

    def compute() -> tuple[float, int]:
        first, second = (Run(job.agent.name, episodes_of(job, spec.env_ids)) for job in (one, other))
        pairing = pair(first, second, "success")
        if len(pairing.pairs) < MIN_SEEDS:
            return 0.0, 0
        found = difference(pairing.pairs, "success", single=pairing.single)
        return found.deviation or 0.0, found.seeds

    return shared_of_all([one, other], f"deviation-{crc32(' '.join(spec.env_ids).encode()):x}", compute)
