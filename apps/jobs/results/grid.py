"""The results of a job by environment: sums over its shards, and the episodes in its grid."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from django.db.models import Case, Q, Value, When

from apps.episodes.models import ORDINALS, Episode
from apps.jobs.models import Job, Shard
from apps.jobs.results.clusters import JobScores, Scores
from apps.jobs.results.tallies import Tally
from apps.seasons.numbers import in_words
from gem.evaluation.spec import EvaluationPart

MAX_CELLS = 1_500
"""Episodes in the grid of a job on one page, over all environments. Larger jobs have more pages of the grid."""
MIN_CELLS_PER_ENV, MAX_CELLS_PER_ENV = 24, 480
"""Bounds of the number of episodes of one environment in the grid."""
MAX_SINGLE_CELLS = 50
"""Cells of one environment that an open page swaps one by one; if more have changed, it swaps all at once.

For each element that a message swaps, htmx raises two events for every one before it: 480 cells took a second.
"""


@dataclass(frozen=True, slots=True)
class EpisodeCell:
    """One episode in the grid; `state` is an outcome, `running` or `queued`."""

    slot: int
    seed: int
    state: str
    episode_id: str = ""
    """Empty if there is no episode yet, or if it is closed or administrators have hidden it."""
    seat: int | None = None
    """The agent's seat, if there are several."""

    @property
    def words(self) -> str:
        """Its description for screen readers."""
        where = "" if self.seat is None else f", {ORDINALS[self.seat]} seat"
        return f"Seed {in_words(self.seed)}{where}: {WORDS[self.state]}"


WORDS = {
    "won": "solved",
    "lost": "not solved",
    "limit": "limit of turns, tokens or money",
    "error": "not counted",
    "running": "running",
    "queued": "queued",
}


@dataclass(frozen=True, slots=True)
class EnvironmentResults:
    """One environment of a job: its sums, and the part of its episodes that the page shows."""

    env_id: str
    first_slot: int
    first_seed: int
    tally: Tally
    size: int
    """Episodes on one page of the grid."""
    page: int = 1
    repeats: int = 1
    """How often each seed is played. All seeds are played once before the next repeat."""
    cells: list[EpisodeCell] = field(default_factory=list)
    scores: Scores = field(default_factory=Scores)
    """Its statistics, with intervals over seeds."""

    @property
    def missing(self) -> int:
        """Its episodes that are missing from the results."""
        return self.tally.missing

    @property
    def key(self) -> int:
        """The suffix of the DOM ids of its elements."""
        return self.first_slot

    @property
    def pages(self) -> int:
        """The number of its pages in the grid."""
        return max(1, math.ceil(self.tally.total / self.size))

    @property
    def window(self) -> range:
        """The slots on the page."""
        start = self.first_slot + (self.page - 1) * self.size
        return range(start, min(start + self.size, self.first_slot + self.tally.total))

    @property
    def has_all_cells(self) -> bool:
        """Whether `cells` are all on the page, and not only those that changed."""
        return len(self.cells) == len(self.window)

    @property
    def seeds(self) -> tuple[int, int]:
        """The first and last seed on the page."""
        return self.place(self.window.start)[0], self.place(self.window.stop - 1)[0]

    def place(self, slot: int) -> tuple[int, int | None]:
        """Seed and seat of the episode in this slot. The seat is None where there is only one."""
        part = EvaluationPart(self.env_id, self.first_seed, self.tally.total // self.repeats)
        seed, seat = part.seed_and_seat((slot - self.first_slot) % part.episodes)
        return seed, seat if part.seats > 1 else None


def lines(
    shards: Sequence[Shard],
    pages: Mapping[str, int] | None = None,
    repeats: int = 1,
    scores: JobScores | None = None,
) -> list[EnvironmentResults]:
    """The results of a job by environment, in its order and without cells.

    Args:
        pages: the page of the grid by environment; the first where there is none.
        scores: the statistics of the job, if they are needed.
    """
    scores = scores or JobScores()
    by_env: dict[str, list[Shard]] = {}
    for shard in shards:
        by_env.setdefault(shard.env_id, []).append(shard)
    size = min(MAX_CELLS_PER_ENV, max(MIN_CELLS_PER_ENV, MAX_CELLS // max(1, len(by_env))))
    results = []
    for env_id, env_shards in by_env.items():
        line = EnvironmentResults(
            env_id, env_shards[0].first_slot, env_shards[0].first_seed, Tally.of(env_shards), size
        )
        page = min(max(1, (pages or {}).get(env_id, 1)), line.pages)
        results.append(replace(line, page=page, repeats=repeats, scores=scores.of(env_id)))
    return results


def fill(job: Job, shards: Sequence[Shard], lines: Iterable[EnvironmentResults], only: set[int] | None = None) -> None:
    """Add the cells of each environment's page; with `only`, just those slots and the running ones if these are few."""
    lines = list(lines)
    ended_cells = _ended(job, [line.window for line in lines])
    for line in lines:
        window = line.window
        ended = {slot: ended_cells[slot] for slot in window if slot in ended_cells}
        running = set() if job.over else _running(shards, ended, window, job.episodes_at_a_time)
        changed = [slot for slot in window if only is None or slot in only or slot in running]
        for slot in changed if len(changed) <= MAX_SINGLE_CELLS else window:
            line.cells.append(ended.get(slot) or _open_cell(line, slot, is_running=slot in running))


def _open_cell(line: EnvironmentResults, slot: int, *, is_running: bool) -> EpisodeCell:
    seed, seat = line.place(slot)
    return EpisodeCell(slot, seed, "running" if is_running else "queued", seat=seat)


OUTCOME = Case(
    When(status=Episode.Status.FAILED, then=Value("error")),
    When(success=True, then=Value("won")),
    When(truncated=True, then=Value("limit")),
    default=Value("lost"),
)


def _ended(job: Job, windows: Sequence[range]) -> dict[int, EpisodeCell]:
    inside = (Q(slot__gte=window.start, slot__lt=window.stop) for window in windows)
    rows = (
        Episode.objects.filter(functools.reduce(operator.or_, inside, Q(pk__in=[])), batch=job.batch_id)
        .annotate(ending=OUTCOME)
        .values_list("slot", "seed", "ending", "id", "scored_seat", "seat_count", "hidden_reason")
    )
    is_closed = job.is_closed
    return {
        slot: EpisodeCell(
            slot, seed, str(ending), "" if hidden_reason or is_closed else key, seat if seats > 1 else None
        )
        for slot, seed, ending, key, seat, seats, hidden_reason in rows
        if slot is not None
    }


def _running(shards: Iterable[Shard], ended: Mapping[int, EpisodeCell], window: range, num_envs: int) -> set[int]:
    """The slots that are being played: in each running shard, the first ones that are not recorded."""
    running: set[int] = set()
    for shard in shards:
        if shard.state != Shard.State.RUNNING:
            continue
        slots = range(max(shard.first_slot, window.start), min(shard.first_slot + shard.count, window.stop))
        open_slots = [slot for slot in slots if slot not in ended]
        if open_slots and shard.first_slot + shard.done + num_envs > window.start:
            running.update(open_slots[:num_envs])
    return running


@dataclass(frozen=True, slots=True)
class UnderWay:
    """An episode that is being played, and what was ordered about it: see `apps.jobs.controls.orders`."""

    env_id: str
    slot: int
    seed: int
    order: str


def under_way(job: Job) -> list[UnderWay]:
    """The episodes that workers play now: in each running shard, the first ones that are not recorded."""
    found = []
    for shard in job.shards.all():
        if job.over or shard.state != Shard.State.RUNNING:
            continue
        recorded = set(
            Episode.objects.filter(batch=job.batch_id, slot__range=(shard.first_slot, shard.slots[-1])).values_list(
                "slot", flat=True
            )
        )
        open_slots = [slot for slot in shard.slots if slot not in recorded][: job.episodes_at_a_time]
        found += [
            UnderWay(shard.env_id, slot, shard.place(slot)[0], shard.orders.get(str(slot), "")) for slot in open_slots
        ]
    return found
