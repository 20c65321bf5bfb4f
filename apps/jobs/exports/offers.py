"""The tables of a job that one can download, as its page offers them."""

from __future__ import annotations

from dataclasses import dataclass

from apps.episodes.models import Episode
from apps.jobs.exports.tables import FORMATS, Format, TableName
from apps.jobs.models import Job

NAMES: dict[Format, str] = {"csv": "CSV", "jsonl": "JSON Lines", "parquet": "Parquet"}


@dataclass(frozen=True, slots=True)
class Offer:
    """A table that one can download."""

    table: TableName
    rows: int
    a_row: str
    """What a row is, in words."""

    @property
    def formats(self) -> list[tuple[Format, str]]:
        """The formats with their names."""
        return [(form, NAMES[form]) for form in FORMATS]


def offers(job: Job) -> list[Offer]:
    """The tables of an evaluation, empty ones too, because the page stays open while it runs.

    Of a closed one, nobody may read the turns.
    """
    turns = [] if job.is_closed else [Offer("turns", job.turns_done, "turn")]
    return [
        Offer("scores", _seeds(job), "seed of an environment"),
        Offer("episodes", job.episodes_done, "episode"),
        *turns,
    ]


def _seeds(job: Job) -> int:
    """The rows of `scores`: all seeds of which an episode is over, also where none counts."""
    played = Episode.objects.filter(batch=job.batch_id, slot__isnull=False).order_by()
    return played.values("env_id", "seed").distinct().count()
