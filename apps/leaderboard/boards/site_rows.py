"""The site's own rows: built-in agents on every benchmark, in every season, played by workers that have nothing else.

One job of the site is submitted at a time, and plays on one worker. Jobs of the site are served after those of people,
and give way to them (`apps.jobs.admission`). Whatever interrupts one, its episodes stay and the next worker goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from django.conf import settings
from django.db.models import Q

from apps.agents import built_in
from apps.jobs import operations as jobs
from apps.jobs.errors import JobRefusal
from apps.jobs.models import Job
from apps.leaderboard.models import Score
from apps.seasons.models import Season
from gem import benchmarks
from gem.benchmarks import Benchmark
from gem.evaluation.spec import EvaluationSpec

logger = logging.getLogger(__name__)

AGENTS = ("random", "expert", built_in.NANO_BASE)
"""In this order they play a benchmark."""
PREFIX = "site-"
SUBMITTED = Q(owner=None, idempotency_key__startswith=PREFIX)
"""A filter for the jobs that were submitted here."""


@dataclass(frozen=True, slots=True)
class Planned:
    """A row that the site has, or will have."""

    benchmark: Benchmark
    season: int
    """Its number; 0 where nothing is hidden."""
    agent: str

    @property
    def key(self) -> str:
        """The key of its job, which is submitted once."""
        return f"{PREFIX}{self.benchmark.name}-{self.benchmark.version}-{self.season}-{self.agent}"

    @property
    def spec(self) -> EvaluationSpec:
        """What is played."""
        return EvaluationSpec(agent=self.agent, benchmark=self.benchmark.name, hidden_seeds=bool(self.season))


def submit_next() -> Job | None:
    """Submit the first job of the site that is due, if none of them is unfinished; None if nothing was submitted."""
    if not settings.SITE_ROWS or _unfinished() is not None:
        return None
    built_in.ensure()
    known = _submitted_or_scored()
    for planned in _plan():
        if planned.key in known or not can_play(planned.benchmark.name, planned.benchmark.version, planned.agent):
            continue
        try:
            job = jobs.submit(
                None, planned.spec, name=f"{planned.agent} on {planned.benchmark.name}", idempotency_key=planned.key
            )
        except JobRefusal as refusal:
            logger.warning("%s cannot be played: %s", planned.key, refusal)
            continue
        Job.objects.filter(pk=job.pk).update(max_workers=1)
        return job
    return None


def _unfinished() -> Job | None:
    return Job.objects.unfinished().filter(SUBMITTED).first()


def _plan() -> Iterator[Planned]:
    """Every row of the site in the order in which they are played.

    The games come first, and of these what programs play, which takes seconds; unions of other benchmarks come last.
    """
    planned = [Planned(benchmark, number, agent) for benchmark, number in _in_season() for agent in AGENTS]
    yield from sorted(planned, key=_place)


def _in_season() -> Iterator[tuple[Benchmark, int]]:
    """Every benchmark with the number of the season that is under way; 0 where nothing is hidden."""
    numbers: dict[str, int] = {}
    for season in Season.objects.under_way().only("benchmark", "version", "number"):
        numbers[f"{season.benchmark}-{season.version}"] = season.number
    for benchmark in map(benchmarks.load, benchmarks.names()):
        hides = benchmark.name in benchmarks.with_hidden_seeds()
        number = numbers.get(f"{benchmark.name}-{benchmark.version}", 0)
        if number or not hides:  # otherwise its season begins in a moment
            yield benchmark, number if hides else 0


def _place(planned: Planned) -> tuple[bool, bool, bool, bool]:
    benchmark = planned.benchmark
    are_games = all(env_id.startswith("game:") for env_id in benchmark.env_ids)
    return bool(benchmark.members), not are_games, planned.agent == built_in.NANO_BASE, not planned.season


def _submitted_or_scored() -> set[str]:
    """The keys of the rows that exist or whose job was submitted, whatever has become of it."""
    keys = Job.objects.filter(SUBMITTED).values_list("idempotency_key", flat=True)
    scores = Score.objects.filter(job__owner=None, env_id="", tools="")
    columns = "benchmark", "benchmark_version", "job__batch__season__number", "agent__slug"
    scored = {
        f"{PREFIX}{name}-{version}-{number or 0}-{slug}" for name, version, number, slug in scores.values_list(*columns)
    }
    return {*keys, *scored}


@cache
def can_play(name: str, version: int, agent: str) -> bool:
    """Whether a built-in agent can play this version of a benchmark here; the answer is kept while the process runs."""
    benchmark = benchmarks.load(name)
    if benchmark.version != version or not built_in.is_here(agent):
        return False
    hides = name in benchmarks.with_hidden_seeds()
    try:
        jobs.check_all(None, [EvaluationSpec(agent=agent, benchmark=name, hidden_seeds=hides)])
    except JobRefusal as refusal:
        logger.info("%s has no row on %s: %s", agent, name, refusal)
        return False
    return True


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the site's own rows of a board are."""

    done: int
    total: int
    job: Job | None
    """The one that is played now, or is next."""
    waits: bool
    """Whether rows of other boards are played before."""


def progress(benchmark: Benchmark, season: Season | None) -> Progress | None:
    """How far the site's rows of a benchmark are in a season; None if all are there, or the site plays none."""
    if not settings.SITE_ROWS or (season is not None and season.is_over):
        return None
    hides = benchmark.name in benchmarks.with_hidden_seeds()
    number = season.number if season else 0
    if hides and not number:
        return Progress(0, len(AGENTS), None, True)
    planned = [Planned(benchmark, number, agent) for agent in AGENTS]
    found = Job.objects.filter(owner=None, idempotency_key__in=[each.key for each in planned])
    job = found.unfinished().first()
    known = _submitted_or_scored()
    done = sum(each.key in known for each in planned) - (job is not None)
    total = sum(each.key in known or can_play(benchmark.name, benchmark.version, each.agent) for each in planned)
    return Progress(done, total, job, job is None) if done < total else None
