"""The beginning and the end of seasons: at the end episodes are opened, and the key is published."""

from __future__ import annotations

import logging

from apps.episodes.models import Batch
from apps.episodes.ranked.closing import open_batch
from apps.jobs.changes import change
from apps.jobs.models import Job, JobEvent
from apps.leases import RowsLocked, patient_transaction
from apps.seasons.models import Season
from apps.seasons.operations import current, publish_key
from gem import benchmarks

logger = logging.getLogger(__name__)


def reveal_all() -> int:
    """Reveal every season that is over and whose jobs have ended. Returns their number."""
    return sum(_reveal(season) for season in Season.objects.over())


def begin_all() -> int:
    """Begin a season of every benchmark with hidden seeds that has none under way. Returns their number."""
    under_way = set(Season.objects.under_way().values_list("benchmark", "version"))
    waiting = [benchmarks.load(name) for name in sorted(benchmarks.with_hidden_seeds())]
    due = [benchmark for benchmark in waiting if (benchmark.name, benchmark.version) not in under_way]
    return len([current(benchmark) for benchmark in due])


def _reveal(season: Season) -> bool:
    try:
        return reveal(season)
    except RowsLocked as locked:
        logger.warning("%s cannot be revealed yet: %s", season, locked)
    except Exception:  # whatever is wrong with one season must not keep the others closed
        logger.exception("%s cannot be revealed", season)
    return False


def reveal(season: Season) -> bool:
    """Open all episodes of a season that is over, and publish its key. False while one of its jobs is unfinished.

    Batches are opened one by one, so an interrupted call is continued by the next one. Nothing that was hidden is of
    use to anybody then: no job can begin in the season any more.
    """
    if not season.is_over or Job.objects.unfinished().filter(batch__season=season).exists():
        return False
    for batch_id in Batch.objects.filter(season=season, closed=True).values_list("pk", flat=True):
        with patient_transaction():
            _open(batch_id)
    publish_key(season)
    return True


def _open(batch_id: str) -> None:
    """Open a batch, and tell the pages of its job."""
    if not open_batch(batch_id):
        return
    job = Job.objects.filter(batch=batch_id).first()
    if job is not None:
        change(job.pk, JobEvent.Kind.CHANGED, "its season is over: its seeds are known, and its episodes are open")
