"""The results of a job so far: sums over its shards, and the episodes in its grid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Case, Count, F, Q, Value, When

from apps.episodes.models import ORDINALS, Episode, Seat
from apps.jobs.cached import shared
from apps.jobs.models import Job, Shard
from gem.evaluation.scores import Z95, Interval, Outcome, wilson
from gem.evaluation.scores import passes as pass_at_each
from gem.evaluation.spec import EvaluationPart

MAX_CELLS = 1_500
"""Episodes in the grid of a job on one page, over all environments. Larger jobs have more pages of the grid."""
MIN_CELLS_PER_ENV, MAX_CELLS_PER_ENV = 24, 480
"""Bounds of the number of episodes of one environment in the grid."""
MAX_SEGMENTS = 100
"""Segments in the overview of an environment that has more episodes than this."""
BINS = 20
WIDTH, HEIGHT = 720, 150


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over episodes. Environment errors and unanswered episodes are in `errors` and in no other result."""

    total: int = 0
    done: int = 0
    won: int = 0
    limited: int = 0
    errors: int = 0
    unanswered: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    turns: int = 0
    returns: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, shards: Iterable[Shard]) -> Tally:
        """The sums of all `shards` together."""
        rows = list(shards)
        return cls(
            total=sum(shard.count for shard in rows),
            done=sum(shard.done for shard in rows),
            won=sum(shard.won for shard in rows),
            limited=sum(shard.limited for shard in rows),
            errors=sum(shard.errors for shard in rows),
            unanswered=sum(shard.unanswered for shard in rows),
            tokens_in=sum(shard.tokens_in for shard in rows),
            tokens_out=sum(shard.tokens_out for shard in rows),
            turns=sum(shard.turns for shard in rows),
            returns=math.fsum(shard.return_sum for shard in rows),
            squares=math.fsum(shard.return_squares for shard in rows),
        )

    @property
    def n(self) -> int:
        """Episodes that count."""
        return self.done - self.errors

    @property
    def lost(self) -> int:
        """Episodes that ended by the environment's rules and were not solved."""
        return self.n - self.won - self.limited

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.tokens_in + self.tokens_out

    @property
    def tokens_each(self) -> float | None:
        """Tokens per finished episode; None without any."""
        return self.tokens / self.done if self.done else None

    @property
    def broken(self) -> int:
        """Episodes with an environment error."""
        return self.errors - self.unanswered

    @property
    def mean(self) -> float | None:
        """The mean return."""
        return self.returns / self.n if self.n else None

    @property
    def half_width(self) -> float | None:
        """Half of the mean return's 95 % interval (normal approximation); None below two episodes."""
        if self.n < 2:
            return None
        mean = self.returns / self.n
        variance = max(0.0, self.squares / self.n - mean * mean) * self.n / (self.n - 1)
        return Z95 * math.sqrt(variance / self.n)

    @property
    def low(self) -> float | None:
        """The lower end of the mean return's interval."""
        return None if self.mean is None or self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """The upper end of the mean return's interval."""
        return None if self.mean is None or self.half_width is None else self.mean + self.half_width

    @property
    def solved(self) -> Interval | None:
        """The share of episodes that were solved."""
        return wilson(self.won, self.n) if self.n else None

    @property
    def mean_turns(self) -> float | None:
        """Turns per episode."""
        return self.turns / self.n if self.n else None


# ------------------------------------------------------------------ environment by environment


@dataclass(frozen=True, slots=True)
class EpisodeCell:
    """One episode in the grid; `state` is an outcome, `running` or `queued`."""

    slot: int
    seed: int
    state: str
    episode_id: str = ""
    """Empty if there is no episode yet, or if administrators have hidden it."""
    seat: int | None = None
    """The agent's seat, if there are several."""

    @property
    def words(self) -> str:
        """Its description for screen readers."""
        where = "" if self.seat is None else f", {ORDINALS[self.seat]} seat"
        return f"Seed {self.seed}{where}: {WORDS[self.state]}"


WORDS = {
    "won": "solved",
    "lost": "not solved",
    "limit": "turn or token limit",
    "error": "not counted",
    "running": "running",
    "queued": "queued",
}


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of an environment's episodes in its overview."""

    x: float
    """Where it starts, in percent of the width."""
    width: float
    share: float
    """The share of counted episodes that were solved."""
    words: str
    page: int

    @property
    def ink(self) -> float:
        """Its opacity: a little even where nothing is solved."""
        return 0.06 + 0.94 * self.share


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
    segments: list[Segment] = field(default_factory=list)

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
    def seeds(self) -> tuple[int, int]:
        """The first and last seed on the page."""
        return self.place(self.window.start)[0], self.place(self.window.stop - 1)[0]

    def place(self, slot: int) -> tuple[int, int | None]:
        """Seed and seat of the episode in this slot. The seat is None where there is only one."""
        part = EvaluationPart(self.env_id, self.first_seed, self.tally.total // self.repeats)
        seed, seat = part.seed_and_seat((slot - self.first_slot) % part.episodes)
        return seed, seat if part.seats > 1 else None


def lines(
    shards: Sequence[Shard], pages: Mapping[str, int] | None = None, repeats: int = 1
) -> list[EnvironmentResults]:
    """The results of a job by environment, in its order and without cells.

    Args:
        pages: the page of the grid by environment; the first where there is none.
    """
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
        results.append(EnvironmentResults(env_id, line.first_slot, line.first_seed, line.tally, size, page, repeats))
    return results


def fill(job: Job, shards: Sequence[Shard], lines: Iterable[EnvironmentResults], only: set[int] | None = None) -> None:
    """Add the cells of each environment's page; with `only`, just those slots and the running ones."""
    lines = list(lines)
    ended_cells = _ended(job, [slot for line in lines for slot in line.window])
    surveyed = [line for line in lines if line.tally.total > MAX_SEGMENTS and line.pages > 1 and only is None]
    if surveyed:
        segments = shared(job, "segments", lambda: {line.key: _segments(job, line) for line in surveyed})
        for line in surveyed:
            line.segments.extend(segments.get(line.key, []))
    for line in lines:
        window = line.window
        ended = {slot: ended_cells[slot] for slot in window if slot in ended_cells}
        running = set() if job.over else _running(shards, ended, window, int(job.spec.get("num_envs", 1)))
        for slot in window:
            if only is None or slot in only or slot in running:
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


def _ended(job: Job, slots: list[int]) -> dict[int, EpisodeCell]:
    rows = (
        Episode.objects.filter(batch=job.batch_id, slot__in=slots)
        .annotate(ending=OUTCOME)
        .values_list("slot", "seed", "ending", "id", "scored_seat", "seat_count", "hidden_reason")
    )
    return {
        slot: EpisodeCell(slot, seed, str(ending), "" if hidden_reason else key, seat if seats > 1 else None)
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


def _segments(job: Job, line: EnvironmentResults) -> list[Segment]:
    """The environment's episodes in at most `MAX_SEGMENTS` parts of equal size."""
    size = math.ceil(line.tally.total / MAX_SEGMENTS)
    rows = (
        Episode.objects.filter(
            batch=job.batch_id, slot__gte=line.first_slot, slot__lt=line.first_slot + line.tally.total
        )
        .annotate(part=(F("slot") - line.first_slot) / size)
        .values("part")
        .annotate(n=Count("pk", filter=~Q(status=Episode.Status.FAILED)), won=Count("pk", filter=Q(success=True)))
        .order_by("part")
    )
    segments = []
    for row in rows:
        first = row["part"] * size
        last = min(first + size, line.tally.total) - 1
        share = row["won"] / row["n"] if row["n"] else 0.0
        seeds = [line.place(line.first_slot + index)[0] for index in (first, last)]
        words = f"Seeds {seeds[0]} to {seeds[1]}: {100 * share:.0f} % of {row['n']} solved"
        width = 100 * (last - first + 1) / line.tally.total
        segments.append(Segment(100 * first / line.tally.total, width, share, words, first // line.size + 1))
    return segments


# ------------------------------------------------------------------ tries at the same problem


def passes(job: Job) -> dict[str, dict[int, Interval]]:
    """pass@k by environment and k, over the seeds that were tried several times."""
    rows = (
        Episode.objects.filter(batch=job.batch_id)
        .exclude(status=Episode.Status.FAILED)
        .values_list("env_id", "slot", "seed", "scored_seat", "success")
    )
    outcomes: dict[str, list[Outcome]] = {}
    for env_id, slot, seed, seat, success in rows:
        outcome = Outcome(slot or 0, 0.0, bool(success), 0, failed=False, problem=(seed, seat))
        outcomes.setdefault(env_id, []).append(outcome)
    return {
        env_id: pass_rates for env_id, env_outcomes in outcomes.items() if (pass_rates := pass_at_each(env_outcomes))
    }


# ------------------------------------------------------------------ returns


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of the histogram, in a picture of `WIDTH` by `HEIGHT`. The solved part is at the bottom."""

    x: float
    y: float
    width: float
    height: float
    solved_y: float
    solved_height: float
    words: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """The number of episodes by return, and how many of them were solved."""

    bars: list[Bar]
    low: float
    high: float
    most: int


def histogram(job: Job) -> Histogram | None:
    """The returns of the episodes so far; None while there are none."""
    rows = list(
        Seat.objects.filter(episode__batch=job.batch_id, episode__status=Episode.Status.ENDED)
        .filter(number=F("episode__scored_seat"))
        .values("total_reward")
        .annotate(n=Count("episode"), won=Count("episode", filter=Q(episode__success=True)))
        .order_by("total_reward")
    )
    if not rows:
        return None
    low, high = rows[0]["total_reward"], rows[-1]["total_reward"]
    if low >= 0 and high <= 1:
        low, high = 0.0, 1.0  # returns between 0 and 1 keep the axis from 0 to 1
    if high <= low:
        low, high = low - 0.5, high + 0.5
    counts = [[0, 0] for _ in range(BINS)]
    for row in rows:
        bin_index = min(BINS - 1, int((row["total_reward"] - low) / (high - low) * BINS))
        counts[bin_index][0] += row["n"]
        counts[bin_index][1] += row["won"]
    max_count = max(n for n, _ in counts)
    bin_width = (high - low) / BINS
    bars = []
    for bin_index, (n, won) in enumerate(counts):
        height, solved = HEIGHT * n / max_count, HEIGHT * won / max_count
        start = low + bin_index * bin_width
        words = f"Return {start:.2f} to {start + bin_width:.2f}: {n:,} episodes, {won:,} solved".replace("-", "\u2212")
        x = WIDTH * bin_index / BINS + 2
        bars.append(Bar(x, HEIGHT - height, WIDTH / BINS - 4, height, HEIGHT - solved, solved, words))
    return Histogram(bars, low, high, max_count)
