"""What the certificate of a row says, and its signature."""

from __future__ import annotations

import functools
import math
import subprocess
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Max, Min, Q
from django.utils import timezone

import gem
from apps.agents.models import Agent, Weights
from apps.episodes.models import Episode
from apps.jobs.books.reading import spec_of
from apps.jobs.models import Job
from apps.leaderboard.challenges.tries import tries_of
from apps.leaderboard.models import Reexecution, Score, SiteKey
from apps.leaderboard.proofs import keys
from apps.leaderboard.results import lowest_return
from apps.seasons.models import scope_of
from gem import benchmarks, sandbox
from gem.benchmarks import BenchmarkEntry
from gem.errors import GemError
from gem.verification import certificates as engine
from gem.verification.certificates import Certificate, Tier
from gem.verification.digests import Leaf, RowDigests, row_digests

LIBRARIES = ("numpy", "torch", "reasoning-gym", "sympy", "math-verify", "nltk", "pydantic")
"""Packages on which rewards or choices may depend; those that are installed are named in certificates."""
PROGRAMS = "python"
"""The tool that runs programs of agents."""


def tier_of(row: Reexecution) -> Tier:
    """The tier of a row whose episodes all agree.

    Choices that could not be compared are not proved, so such a row is no better than that of an endpoint. Whoever
    played elsewhere knew the seeds before the first action.
    """
    if row.job.agent.kind == Agent.Kind.OUTSIDE:
        return "verified"
    return "reproduced" if row.choices == Reexecution.Choices.SAME else "hosted"


@transaction.atomic
def issue(row: Reexecution) -> dict[str, Any]:
    """Sign the certificate of a row, whose tier is known, and return it as plain data.

    Raises:
        apps.agents.seal.CannotUnseal: the key of the site cannot be read.
    """
    key = keys.signing_key()  # before the certificate is dated
    SiteKey.objects.select_for_update().filter(ends=None).first()  # it is not exchanged before this is signed
    return engine.sign(describe(row), key)


def digests_of(row: Reexecution) -> RowDigests:
    """The digests of a row whose episodes were executed."""
    return row_digests(leaves_of(row))


def leaves_of(row: Reexecution) -> list[Leaf]:
    """The leaves of its tree."""
    return [Leaf(env_id, index, digest) for env_id, index, digest in row.leaves]


def describe(row: Reexecution) -> Certificate:
    """What is certified of a row."""
    job = row.job
    digests = digests_of(row)
    scores = {score.env_id: score for score in job.scores.all()}
    overall = scores.pop("", None)
    episodes = Episode.objects.filter(batch=job.batch_id)
    times = episodes.aggregate(first=Min("created"), last=Max("ended"), engine=Max("engine_version"))
    python = episodes.aggregate(python=Max("python_version"))["python"]
    tier: Tier = tier_of(row)
    benchmark = benchmarks.load(job.spec["benchmark"])
    return Certificate(
        site=settings.SITE_URL,
        row=str((overall or next(iter(scores.values()))).pk),
        tier=tier,
        proves=engine.statement(tier),
        agent=_agent(job, tier),
        submitter=job.owner.get_username() if job.owner else "the site",
        specification=spec_of(job, priced=False),
        benchmark=engine.CertifiedBenchmark(name=benchmark.name, version=benchmark.version),
        season=_season(job),
        score=None if overall is None else _score(overall),
        environments=tuple(
            _environment(job, benchmark.entry(env_id), score, digests.environments[env_id])
            for env_id, score in scores.items()
        ),
        episodes=digests.size,
        tries=max(1, tries_of(job)),
        row_digest=digests.row,
        engine=_engine(job, times["engine"] or gem.__version__, python or ""),
        played_from=job.started or times["first"],
        played_to=job.ended or times["last"],
        issued=timezone.now(),
    )


def _agent(job: Job, tier: Tier) -> engine.CertifiedAgent:
    """The agent of a job. Everybody may read a certificate, so it has no set-up of an agent whose page is private."""
    set_up = dict(job.set_up or {})
    weights = Weights.objects.filter(agent=job.agent).first() if tier == "reproduced" else None
    return engine.CertifiedAgent(
        name=job.agent.name,
        kind=job.agent.nature,
        version=set_up.pop("version", None),
        weights_sha256=weights.sha256 or None if weights else None,
        set_up=set_up if job.agent.is_open else {},
    )


def _season(job: Job) -> engine.CertifiedSeason | None:
    season = job.batch.season
    if season is None:
        return None
    return engine.CertifiedSeason(
        number=season.number, commitment=season.commitment, scope=scope_of(job.batch.submission)
    )


def _score(score: Score) -> engine.CertifiedScore:
    return engine.CertifiedScore(mean=score.mean, low=score.low, high=score.high)


def _environment(job: Job, entry: BenchmarkEntry, score: Score, digest: str) -> engine.CertifiedEnvironment:
    episodes = Episode.objects.filter(batch=job.batch_id, env_id=entry.env_id)
    failed = Q(status=Episode.Status.FAILED)
    found = episodes.aggregate(
        number=Count("pk"),
        broken=Count("pk", filter=failed & ~Q(failed_by="agent")),
        unanswered=Count("pk", filter=failed & Q(failed_by="agent")),
        seeds=Count("seed", distinct=True, filter=~failed | Q(failed_by="agent")),
        solved=Count("pk", filter=~failed & Q(success=True)),
        version=Max("env_version"),
        data_hash=Max("data_hash"),
    )
    returns = episodes.exclude(failed).filter(seats__number=F("scored_seat"))
    values = list(returns.values_list("seats__total_reward", flat=True))
    unanswered_return = lowest_return(entry, values) if found["unanswered"] else None
    values += [unanswered_return] * found["unanswered"] if unanswered_return is not None else []
    return engine.CertifiedEnvironment(
        env_id=entry.env_id,
        version=found["version"],
        data_hash=found["data_hash"],
        episodes=found["number"],
        seeds=found["seeds"],
        failed=found["broken"],
        unanswered=found["unanswered"],
        unanswered_return=unanswered_return,
        mean_return=engine.CertifiedScore(mean=math.fsum(values) / len(values)) if values else None,
        solved=found["solved"],
        random_return=entry.random_return,
        anchor_return=entry.best_return,
        score=_score(score) if score.n else None,
        digest=digest,
    )


def _engine(job: Job, version: str, python: str) -> engine.CertifiedEngine:
    """What the episodes were played with. Details are known of this process only, so an older engine has none."""
    is_this = version == gem.__version__
    return engine.CertifiedEngine(
        version=version,
        commit=commit() if is_this else "",
        python=python,
        libraries=_versions(LIBRARIES) if is_this else {},
        sandbox=sandbox_level() if is_this and runs_programs(job) else "",
    )


def _versions(names: Iterable[str]) -> dict[str, str]:
    found = {}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


@functools.cache
def commit() -> str:
    """The commit of a checkout that this process runs; empty for an installed package."""
    folder = Path(gem.__file__).resolve().parent.parent
    if not (folder / ".git").exists():
        return ""
    command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()


def runs_programs(job: Job) -> bool:
    """Whether untrusted programs run in the episodes of a job."""
    return PROGRAMS in job.spec.get("tools", ()) or any(env_id.startswith("code:") for env_id in job.spec["env_ids"])


def sandbox_level() -> str:
    """How this machine confines untrusted programs; empty if it cannot."""
    try:
        return str(sandbox.level())
    except GemError:
        return ""
