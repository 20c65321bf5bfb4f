"""What a file with a table says about itself."""

from __future__ import annotations

from typing import Any

from apps.accounts.models import Viewer
from apps.jobs.books.reading import spec_of
from apps.jobs.exports.tables import TableName
from apps.jobs.models import Job
from apps.jobs.pages import may_see_set_up
from apps.jobs.results import Tally, datasets


def about(job: Job, table: TableName, viewer: Viewer) -> dict[str, Any]:
    """What a file says about itself: the request of the job, its data with their hashes, and whether it is partial."""
    tally = Tally.of(job.shards.all())
    return {
        "job": job.pk,
        "table": table,
        "spec": spec_of(job, priced=may_see_set_up(job, viewer)),
        "state": job.state,
        "partial": tally.is_partial,
        "missing_episodes": tally.missing,
        "data": [
            {
                "env_id": use.env_id,
                "name": use.name,
                "hash": use.data_hash,
                "stands_in_for": use.stands_in_for,
            }
            for use in datasets.used(job)
        ],
    }
