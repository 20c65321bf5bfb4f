"""The outcome of every seed in every environment: a heat map, and the same as a list."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Avg, Case, Count, F, FloatField, Min, Q, QuerySet, When
from django.db.models.functions import Cast, NullIf

from apps.episodes.models import Episode
from apps.jobs.models import Job
from apps.seasons.numbers import in_words

COLUMNS, ROWS = 40, 36
"""Seeds and environments of one page of the map."""
_COUNTS = ~Q(status=Episode.Status.FAILED)


@dataclass(frozen=True, slots=True)
class SeedCell:
    """The episodes of one seed in one environment: its tries and seats."""

    env_id: str
    seed: int
    episodes: int
    """Those that count."""
    solved: int
    errors: int
    """Those that do not count."""
    episode_id: str = ""
    """The only one of them that can be opened; empty if there are several, or none."""

    @property
    def level(self) -> str:
        """How it is drawn: `0`, none solved, to `4`, all solved; `error` if none counts."""
        if not self.episodes:
            return "error"
        if self.solved in (0, self.episodes):
            return "4" if self.solved else "0"
        return str(min(3, max(1, round(4 * self.solved / self.episodes))))

    @property
    def words(self) -> str:
        """What it says to those who do not see it."""
        errors = f", {self.errors} not counted" if self.errors else ""
        seed = in_words(self.seed)
        if not self.episodes:
            return f"seed {seed}: not counted"
        if self.episodes == 1 and not self.errors:
            return f"seed {seed}: {'solved' if self.solved else 'not solved'}"
        return f"seed {seed}: {self.solved} of {self.episodes} solved{errors}"


@dataclass(frozen=True, slots=True)
class SeedRow:
    """One environment of the map; a cell is None where nothing was played."""

    env_id: str
    cells: list[SeedCell | None]


@dataclass(frozen=True, slots=True)
class SeedMap:
    """A page of the map: seeds that are solved most often come first."""

    seeds: list[int]
    rows: list[SeedRow]
    page: int
    pages: int
    env_page: int
    env_pages: int


def pages_of(job: Job) -> tuple[int, int]:
    """The number of pages of the map: of seeds, and of environments."""
    episodes = Episode.objects.filter(batch=job.batch_id, slot__isnull=False).order_by()
    number = episodes.aggregate(seeds=Count("seed", distinct=True))["seeds"]
    return max(1, math.ceil(number / COLUMNS)), max(1, math.ceil(len(job.spec["env_ids"]) / ROWS))


def seed_map(job: Job, page: int = 1, env_page: int = 1) -> SeedMap:
    """A page of the map. A page that there is not is the last one."""
    episodes = Episode.objects.filter(batch=job.batch_id, slot__isnull=False).order_by()
    env_ids: Sequence[str] = job.spec["env_ids"]
    pages, env_pages = pages_of(job)
    page, env_page = min(max(page, 1), pages), min(max(env_page, 1), env_pages)
    share = Cast(Count("pk", filter=Q(success=True)), FloatField()) / NullIf(Count("pk", filter=_COUNTS), 0)
    by_share = episodes.values("seed").annotate(share=share).order_by(F("share").desc(nulls_last=True), "seed")
    seeds = list(by_share.values_list("seed", flat=True)[(page - 1) * COLUMNS : page * COLUMNS])
    shown = list(env_ids[(env_page - 1) * ROWS : env_page * ROWS])
    found = {(cell.env_id, cell.seed): cell for cell in _cells(episodes.filter(seed__in=seeds, env_id__in=shown))}
    if job.is_closed:
        found = {place: replace(cell, episode_id="") for place, cell in found.items()}
    rows = [SeedRow(env_id, [found.get((env_id, seed)) for seed in seeds]) for env_id in shown]
    return SeedMap(seeds, rows, page, pages, env_page, env_pages)


def _cells(episodes: QuerySet[Episode]) -> list[SeedCell]:
    rows = (
        episodes.order_by()
        .values("env_id", "seed")
        .annotate(
            n=Count("pk", filter=_COUNTS),
            solved=Count("pk", filter=Q(success=True)),
            every=Count("pk"),
            key=Min(Case(When(hidden_reason="", then="pk"))),
        )
        .values_list("env_id", "seed", "n", "solved", "every", "key")
    )
    return [
        SeedCell(env_id, seed, n, solved, every - n, key if key and every == 1 else "")
        for env_id, seed, n, solved, every, key in rows
    ]


@dataclass(frozen=True, slots=True)
class SeedResult:
    """The results of one seed in one environment."""

    env_id: str
    seed: int
    episodes: int
    counted: int
    solved: int
    mean_return: float | None


def seed_results(job: Job, start: int, number: int) -> list[SeedResult]:
    """The results of every seed in every environment by their ids: `number` of them from the `start`-th on."""
    rows = (
        Episode.objects.filter(batch=job.batch_id, slot__isnull=False, seats__number=F("scored_seat"))
        .order_by()
        .values("env_id", "seed")
        .annotate(
            n=Count("pk"),
            counted=Count("pk", filter=_COUNTS),
            solved=Count("pk", filter=Q(success=True)),
            mean=Avg("seats__total_reward", filter=_COUNTS),
        )
        .order_by("env_id", "seed")
        .values_list("env_id", "seed", "n", "counted", "solved", "mean")
    )
    return [SeedResult(*row) for row in rows[start : start + number]]
