"""What a day shows: who did better than whom, the curve of all, and the table.

An episode that solves the seed beats one that does not. Of two that solve it, the one with fewer turns is better; of
two that do not, the one with the higher return. Each day is read by its own index, so old days cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from django.db.models import Case, Count, F, Q, When

from apps.daily.days import date_of
from apps.daily.models import Try, TryQuerySet
from apps.episodes.models import Episode, Seat
from apps.seasons.models import Season

SAME = 1e-9
MOST_BARS = 8
MOST_ROWS = 200
"""Rows of the table of a day."""
STREAK_DAYS = 12
"""Days of a person's own results that are shown."""


@dataclass(frozen=True, slots=True)
class Result:
    """How an episode went."""

    solved: bool
    turns: int
    score: float
    """The return."""

    @property
    def better(self) -> Q:
        """A filter for the tries that are better."""
        if self.solved:
            return Q(solved=True, turns__lt=self.turns)
        return Q(solved=True) | Q(solved=False, score__gt=self.score + SAME)

    @property
    def worse(self) -> Q:
        """A filter for the tries that are worse."""
        if self.solved:
            return Q(solved=False) | Q(solved=True, turns__gt=self.turns)
        return Q(solved=False, score__lt=self.score - SAME)


@dataclass(frozen=True, slots=True)
class Beaten:
    """How many of the others a result beats."""

    people: int
    people_of: int
    agents: int
    agents_of: int

    @property
    def share(self) -> float | None:
        """The share of the other people; None if there are none."""
        return self.people / self.people_of if self.people_of else None

    @property
    def sentence(self) -> str:
        """`Better than 73 % of people and 4 of 6 agents`; empty while nobody else has finished."""
        parts = []
        if self.share is not None:
            parts.append(f"{100 * self.share:.0f} % of people")
        if self.agents_of:
            parts.append(f"{self.agents} of {self.agents_of} agent{'' if self.agents_of == 1 else 's'}")
        return f"Better than {' and '.join(parts)}" if parts else ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of the curve: how many people needed so many turns, or did not solve it."""

    first: int
    last: int
    count: int
    is_mine: bool
    agents: list[Try]
    height: float
    """Its share of the highest bar."""

    @property
    def drawn(self) -> float:
        """The height of the bar in a drawing of 100: enough to be seen if anybody is in it."""
        return max(2.0, round(100 * self.height, 1)) if self.count else 0.0

    @property
    def top(self) -> float:
        """Where the bar begins in this drawing."""
        return round(100 - self.drawn, 1)

    @property
    def label(self) -> str:
        """`4`, `5–8`, or `not solved`."""
        if not self.last:
            return "not solved"
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of the table of a day."""

    one: Try
    best: int
    worst: int
    name: str
    """That of an agent, or of a person who wants to be named; empty for other people."""
    is_mine: bool
    episode: Episode | None
    """If this person may open it now."""

    @property
    def rank(self) -> str:
        """`3`, or `2–4` where results are equal."""
        return str(self.best) if self.best == self.worst else f"{self.best}–{self.worst}"


@dataclass(frozen=True, slots=True)
class StreakDay:
    """One of the last days, as the person who looks did on it."""

    number: int
    date: date
    state: str
    """`won`, `lost`, or empty if they did not play."""
    turns: int


def result_of(day: Season, episode: Episode) -> Result:
    """How an episode went that is over, or whose day is. What was played after the day does not count."""
    kept = Try.objects.over().filter(episode=episode).first()
    if kept is not None:
        return Result(kept.solved, kept.turns, kept.score)
    seat = Seat.objects.get(episode=episode, number=episode.scored_seat)
    in_time = episode.ended is not None and episode.ended <= day.ends
    return Result(bool(episode.success) and in_time, episode.turn_count, seat.total_reward)


def beaten(day: Season, result: Result, *, own: Episode | None = None) -> Beaten:
    """How many people and agents a result beats, without its own."""
    tries = Try.objects.over().filter(season=day).exclude(episode=own)
    numbers = tries.aggregate(
        people=Count("pk", filter=Q(agent=None) & result.worse),
        people_of=Count("pk", filter=Q(agent=None)),
        agents=Count("pk", filter=Q(user=None) & result.worse),
        agents_of=Count("pk", filter=Q(user=None)),
    )
    return Beaten(**numbers)


def counts(day: Season) -> tuple[int, int]:
    """How many people and agents have finished a day."""
    numbers = (
        Try.objects.over()
        .filter(season=day)
        .aggregate(people=Count("pk", filter=Q(agent=None)), agents=Count("pk", filter=Q(user=None)))
    )
    return numbers["people"], numbers["agents"]


def curve(day: Season, mine: Result | None = None) -> list[Bar]:
    """People by the turns they needed, in at most `MOST_BARS` bars, the last for those who did not solve it."""
    people = Try.objects.over().of_people().filter(season=day)
    by_turns = dict(people.filter(solved=True).values_list("turns").annotate(n=Count("pk")))
    missed = people.filter(solved=False).count()
    agents = [*Try.objects.over().of_agents().filter(season=day).select_related("agent")]
    solved_in = [*by_turns, *(one.turns for one in agents if one.solved)]
    if mine is not None and mine.solved:
        solved_in.append(mine.turns)
    if not solved_in and not missed and not agents and mine is None:
        return []
    drawn = []
    for first, last in _spans(solved_in):
        here = range(first, last + 1)
        count = sum(n for turns, n in by_turns.items() if turns in here)
        is_mine = mine is not None and mine.solved and mine.turns in here
        drawn.append((first, last, count, is_mine, [one for one in agents if one.solved and one.turns in here]))
    is_mine = mine is not None and not mine.solved
    drawn.append((0, 0, missed, is_mine, [one for one in agents if not one.solved]))
    highest = max(1, *(bar[2] for bar in drawn))
    return [Bar(*bar, height=bar[2] / highest) for bar in drawn]


def _spans(turns: list[int]) -> list[tuple[int, int]]:
    """Spans of equal length from the fewest turns to the most."""
    if not turns:
        return []
    first, last = min(turns), max(turns)
    step = -(-(last - first + 1) // (MOST_BARS - 1))
    return [(begin, min(begin + step - 1, last)) for begin in range(first, last + 1, step)]


def table(day: Season, user_id: int | None) -> list[TableRow]:
    """The tries of a day, the best first, with ranks that are equal where the results are."""
    ordered = _ordered(Try.objects.over().filter(season=day))
    rows = list(ordered.select_related("user", "agent", "episode__batch")[:MOST_ROWS])
    if user_id is not None and not any(one.user_id == user_id for one in rows):
        rows += Try.objects.over().filter(season=day, user=user_id).select_related("user", "agent", "episode__batch")
    ranks = _ranks(day)
    public = set(
        Episode.objects.published().filter(pk__in=[one.episode_id for one in rows]).values_list("pk", flat=True)
    )
    return [
        TableRow(
            one,
            *ranks[_key(one)],
            name=_name(one),
            is_mine=user_id is not None and one.user_id == user_id,
            episode=one.episode if one.episode_id in public else None,
        )
        for one in rows
    ]


def _key(one: Try) -> Result:
    return Result(True, one.turns, 0.0) if one.solved else Result(False, 0, round(one.score, 9))


def _ranks(day: Season) -> dict[Result, tuple[int, int]]:
    """The best and the worst rank of every result of a day; equal results share theirs."""
    counted: dict[Result, int] = {}
    columns = "solved", "turns", "score"
    for solved, turns, score, n in Try.objects.over().filter(season=day).values_list(*columns).annotate(n=Count("pk")):
        key = Result(True, turns, 0.0) if solved else Result(False, 0, round(score, 9))
        counted[key] = counted.get(key, 0) + n
    ranks, better = {}, 0
    for key in sorted(counted, key=lambda result: (not result.solved, result.turns, -result.score)):
        ranks[key] = better + 1, better + counted[key]
        better += counted[key]
    return ranks


def _ordered(tries: TryQuerySet) -> TryQuerySet:
    """The best first; of equals the one that ended first."""
    turns_of_solved = Case(When(solved=True, then=F("turns")), default=0)
    return tries.order_by("-solved", turns_of_solved, "-score", "ended")


def _name(one: Try) -> str:
    if one.agent is not None:
        return one.agent.name
    return one.user.get_username() if one.user is not None and one.user.is_named else ""


def streak(user_id: int | None, until: int) -> list[StreakDay]:
    """How a person did on the last days up to `until`, the oldest first; none of a guest."""
    if user_id is None:
        return []
    first = until - STREAK_DAYS + 1
    tries = Try.objects.over().filter(user=user_id, season__number__range=(first, until)).select_related("season")
    found = {one.season.number: one for one in tries}
    shown = []
    for number in range(max(1, first), until + 1):
        one = found.get(number)
        state = "" if one is None else "won" if one.solved else "lost"
        shown.append(StreakDay(number, date_of(number), state, one.turns if one is not None else 0))
    return shown
