"""What a job has reached so far: sums over its shards, and the episodes in its grid."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Case, Count, F, Q, QuerySet, Value, When

from apps.episodes.models import ORDINALS, Episode, Seat
from apps.jobs.models import Job, Shard
from gem.evaluation.scores import Z95, Interval, Outcome, wilson
from gem.evaluation.scores import passes as pass_at_each
from gem.evaluation.spec import Part

CELLS = 1_500
"""Episodes that the grid of a job shows at once, all environments together: a page never grows with the job."""
LEAST_CELLS, MOST_CELLS = 24, 480
"""Of them, those of one environment."""
SEGMENTS = 100
"""Parts of the overview of an environment with more episodes than that."""
BINS = 20
WIDE, HIGH = 720, 150


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over episodes; those in which the environment broke are only counted as errors."""

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
        """Ended by the environment's rules, not solved."""
        return self.n - self.won - self.limited

    @property
    def tokens(self) -> int:
        """In and out together."""
        return self.tokens_in + self.tokens_out

    @property
    def tokens_each(self) -> float | None:
        """Tokens for each finished episode."""
        return self.tokens / self.done if self.done else None

    @property
    def broken(self) -> int:
        """Episodes in which the environment broke."""
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
    seat: int | None = None
    """From where the agent acts, if there are several seats."""

    @property
    def words(self) -> str:
        """Its name for a screen reader."""
        where = "" if self.seat is None else f", {ORDINALS[self.seat]} seat"
        return f"Seed {self.seed}{where}: {WORDS[self.state]}"


WORDS = {
    "won": "solved",
    "lost": "not solved",
    "limit": "turn limit",
    "error": "not counted",
    "running": "running",
    "queued": "queued",
}


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of an environment's episodes in its overview."""

    x: float
    """Where it begins, in percent."""
    width: float
    share: float
    """Solved, of those that count."""
    words: str
    page: int

    @property
    def ink(self) -> float:
        """How strongly it is drawn: a little even where nothing is solved."""
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
    """How often each seed is played, one pass after the other."""
    cells: list[EpisodeCell] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)

    @property
    def key(self) -> int:
        """What its elements' ids end with."""
        return self.first_slot

    @property
    def pages(self) -> int:
        """How many pages of the grid it fills."""
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
        """Seed and seat of the episode in this slot; no seat where there is only one."""
        part = Part(self.env_id, self.first_seed, self.tally.total // self.repeats)
        seed, seat = part.place((slot - self.first_slot) % part.episodes)
        return seed, seat if part.seats > 1 else None


def lines(
    shards: Sequence[Shard], pages: Mapping[str, int] | None = None, repeats: int = 1
) -> list[EnvironmentResults]:
    """The environments of a job in its order, without cells; `pages` says which page of the grid of each is shown."""
    by_env: dict[str, list[Shard]] = {}
    for shard in shards:
        by_env.setdefault(shard.env_id, []).append(shard)
    size = min(MOST_CELLS, max(LEAST_CELLS, CELLS // max(1, len(by_env))))
    found = []
    for env_id, own in by_env.items():
        line = EnvironmentResults(env_id, own[0].first_slot, own[0].first_seed, Tally.of(own), size)
        page = min(max(1, (pages or {}).get(env_id, 1)), line.pages)
        found.append(EnvironmentResults(env_id, line.first_slot, line.first_seed, line.tally, size, page, repeats))
    return found


def fill(job: Job, shards: Sequence[Shard], shown: Iterable[EnvironmentResults], only: set[int] | None = None) -> None:
    """Put the episodes of each line's page into its cells; with `only`, just those slots and the running ones."""
    shown = list(shown)
    every = _ended(job, [slot for line in shown for slot in line.window])
    for line in shown:
        window = line.window
        ended = {slot: every[slot] for slot in window if slot in every}
        running = set() if job.over else _running(shards, ended, window, int(job.spec.get("num_envs", 1)))
        for slot in window:
            if only is None or slot in only or slot in running:
                state = "running" if slot in running else "queued"
                seed, seat = line.place(slot)
                line.cells.append(ended.get(slot) or EpisodeCell(slot, seed, state, seat=seat))
        if line.tally.total > SEGMENTS and line.pages > 1 and only is None:
            line.segments.extend(_segments(job, line))


_OUTCOME = Case(
    When(status=Episode.Status.FAILED, then=Value("error")),
    When(success=True, then=Value("won")),
    When(truncated=True, then=Value("limit")),
    default=Value("lost"),
)


def _ended(job: Job, slots: list[int]) -> dict[int, EpisodeCell]:
    rows = (
        Episode.objects.filter(batch=job.batch_id, slot__in=slots)
        .annotate(ending=_OUTCOME)
        .values_list("slot", "seed", "ending", "id", "scored_seat", "seat_count")
    )
    return {
        slot: EpisodeCell(slot, seed, str(ending), key, seat if seats > 1 else None)
        for slot, seed, ending, key, seat, seats in rows
        if slot is not None
    }


def _running(shards: Iterable[Shard], ended: Mapping[int, EpisodeCell], window: range, num_envs: int) -> set[int]:
    """The slots that workers play now: in each of their shards, the first that are not recorded."""
    running: set[int] = set()
    for shard in shards:
        if shard.state != Shard.State.RUNNING:
            continue
        slots = range(max(shard.first_slot, window.start), min(shard.first_slot + shard.count, window.stop))
        open_ones = [slot for slot in slots if slot not in ended]
        if open_ones and shard.first_slot + shard.done + num_envs > window.start:
            running.update(open_ones[:num_envs])
    return running


def _segments(job: Job, line: EnvironmentResults) -> list[Segment]:
    """The environment's episodes in at most `SEGMENTS` parts of equal size."""
    size = math.ceil(line.tally.total / SEGMENTS)
    rows = (
        Episode.objects.filter(
            batch=job.batch_id, slot__gte=line.first_slot, slot__lt=line.first_slot + line.tally.total
        )
        .annotate(part=(F("slot") - line.first_slot) / size)
        .values("part")
        .annotate(n=Count("pk", filter=~Q(status=Episode.Status.FAILED)), won=Count("pk", filter=Q(success=True)))
        .order_by("part")
    )
    found = []
    for row in rows:
        first = row["part"] * size
        last = min(first + size, line.tally.total) - 1
        share = row["won"] / row["n"] if row["n"] else 0.0
        seeds = [line.place(line.first_slot + index)[0] for index in (first, last)]
        words = f"Seeds {seeds[0]} to {seeds[1]}: {100 * share:.0f} % of {row['n']} solved"
        width = 100 * (last - first + 1) / line.tally.total
        found.append(Segment(100 * first / line.tally.total, width, share, words, first // line.size + 1))
    return found


# ------------------------------------------------------------------ tries at the same problem


def passes(job: Job) -> dict[str, dict[int, Interval]]:
    """pass@k of each environment, over the seeds that were tried several times."""
    rows = (
        Episode.objects.filter(batch=job.batch_id)
        .exclude(status=Episode.Status.FAILED)
        .values_list("env_id", "slot", "seed", "scored_seat", "success")
    )
    outcomes: dict[str, list[Outcome]] = {}
    for env_id, slot, seed, seat, success in rows:
        outcome = Outcome(slot or 0, 0.0, bool(success), 0, failed=False, problem=(seed, seat))
        outcomes.setdefault(env_id, []).append(outcome)
    return {env_id: found for env_id, those in outcomes.items() if (found := pass_at_each(those))}


# ------------------------------------------------------------------ returns


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar of the histogram, in a picture of `WIDE` by `HIGH`; the solved part stands at its foot."""

    x: float
    y: float
    width: float
    height: float
    solved_y: float
    solved_height: float
    words: str


@dataclass(frozen=True, slots=True)
class Histogram:
    """How often which return was reached, and how many of those episodes were solved."""

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
        low, high = 0.0, 1.0  # shares keep their axis
    if high <= low:
        low, high = low - 0.5, high + 0.5
    counts = [[0, 0] for _ in range(BINS)]
    for row in rows:
        place = min(BINS - 1, int((row["total_reward"] - low) / (high - low) * BINS))
        counts[place][0] += row["n"]
        counts[place][1] += row["won"]
    most = max(n for n, _ in counts)
    step = (high - low) / BINS
    bars = []
    for place, (n, won) in enumerate(counts):
        height, solved = HIGH * n / most, HIGH * won / most
        start = low + place * step
        words = f"Return {start:.2f} to {start + step:.2f}: {n:,} episodes, {won:,} solved".replace("-", "\u2212")
        x = WIDE * place / BINS + 2
        bars.append(Bar(x, HIGH - height, WIDE / BINS - 4, height, HIGH - solved, solved, words))
    return Histogram(bars, low, high, most)


def finished(job: Job, ending: str = "") -> QuerySet[Episode]:
    """The job's episodes, the last finished first, each with its outcome as `ending` and its return as `reached`."""
    found = Episode.objects.filter(batch=job.batch_id, seats__number=F("scored_seat"))
    found = found.annotate(ending=_OUTCOME, reached=F("seats__total_reward"))
    if ending:
        found = found.filter(Q(ending=ending))
    return found.order_by("-ended", "-slot")
