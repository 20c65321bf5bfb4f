"""The answers of this package, shared by requests."""

from __future__ import annotations

from functools import partial

from apps.jobs.analysis.distributions import Distribution, distributions
from apps.jobs.analysis.failures import Failures, failures
from apps.jobs.analysis.groups import Groups, groups
from apps.jobs.analysis.replays import SHOWN, Replays, replays
from apps.jobs.analysis.seeds import SeedMap, pages_of, seed_map
from apps.jobs.models import Job
from apps.jobs.results.cached import shared


def groups_of(job: Job) -> Groups:
    """The results by category and difficulty. They need no query that the job's page does not need."""
    return groups(job, list(job.shards.all()))


def distributions_of(job: Job, env_id: str = "") -> list[Distribution]:
    """See `distributions`. An environment that is not of the job counts as none."""
    known = env_id if env_id in job.spec["env_ids"] else ""
    number = job.spec["env_ids"].index(known) if known else "all"
    return shared(job, f"distributions-{number}", partial(distributions, job, known))


def failures_of(job: Job) -> Failures:
    """See `failures`."""
    return shared(job, "failures", partial(failures, job))


def seed_map_of(job: Job, page: int = 1, env_page: int = 1) -> SeedMap:
    """See `seed_map`. Numbers above the last page name that page, so they add nothing to what is shared."""
    pages, env_pages = shared(job, "seed-pages", partial(pages_of, job))
    page, env_page = min(page, pages), min(env_page, env_pages)
    return shared(job, f"seeds-{page}-{env_page}", partial(seed_map, job, page, env_page))


def replays_of(job: Job) -> Replays:
    """See `replays`."""
    return shared(job, f"replays-{SHOWN}", partial(replays, job, SHOWN))
