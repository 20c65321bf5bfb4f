"""What the page of a ranked job says about its season, and how its episodes are reproduced."""

from __future__ import annotations

from typing import Any

from apps.jobs.models import Job
from apps.jobs.ranked.tries import tries_of, tries_with_any_agent
from apps.seasons.models import scope_of

SCRIPT = """\
from gem.agents import make_agent
from gem.benchmarks import seeds
from gem.rollout import EpisodeRequest, rollout

key = bytes.fromhex("{key}")
assert seeds.keeps(key, "{commitment}")
for env_id, count in {hidden}.items():
    order = seeds.order_of_play(key, "{benchmark}", {version}, "{scope}", count)
    drawn = [seeds.derive_seed(key, "{benchmark}", {version}, env_id, "{scope}", number) for number in order]
    requests = [EpisodeRequest(i, env_id, seed, {{}}, {wrappers}) for i, seed in enumerate(drawn)]
    for record in rollout(make_agent("{agent}"), requests):
        print(env_id, record.identity.seed, record.total_reward, record.success)
"""
"""Derives the seeds of a season that is over, and plays them from the first seat."""


def season_of(job: Job) -> dict[str, Any]:
    """The season of a job and how often its owner has tried; nothing if its seeds were never hidden."""
    if job.batch.season is None:
        return {}
    return {"season": job.batch.season, "tries": tries_of(job), "account_tries": tries_with_any_agent(job)}


def script_of(job: Job, wrappers: list[dict[str, Any]]) -> str:
    """A script that plays the seeds of a job on hidden seeds, once they are published; empty before."""
    season = job.batch.season
    assert season is not None  # every job on hidden seeds has one
    if not season.is_revealed:
        return ""
    return SCRIPT.format(
        key=season.published_key,
        commitment=season.commitment,
        hidden=season.hidden,
        benchmark=season.benchmark,
        version=season.version,
        scope=scope_of(job.batch.submission),
        wrappers=wrappers,
        agent=job.spec["agent"],
    )
