"""Two agents on the seeds that both have played: what came of them, over all episodes of an environment."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from apps.agents.models import Agent
from apps.duels.side_by_side import Side, Sides
from apps.episodes.models import Episode, Seat
from gem.evaluation.scores import Interval, paired_difference

SEEDS_AT_MOST = 20_000


@dataclass(frozen=True, slots=True)
class Record:
    """How often each of two solved the same seeds."""

    first: str
    second: str
    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def seeds(self) -> int:
        """The seeds that both have played to an end."""
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def difference(self) -> Interval:
        """The share of seeds solved by the first agent minus the share solved by the second."""
        return paired_difference(self.only_first, self.only_second, self.seeds)

    @property
    def difference_in_words(self) -> str:
        """The difference as a sentence without its interval: "ann solves 25.0 percentage points more"."""
        points = 100 * self.difference.mean
        return f"{self.first} solves {abs(points):.1f} percentage points {'fewer' if points < 0 else 'more'}"

    @property
    def interval_in_words(self) -> str:
        """The 95 % interval of the difference in percentage points: "−50.0 to 12.5"."""
        return f"{_points(self.difference.low)} to {_points(self.difference.high)}"

    @property
    def claim(self) -> str:
        """What the difference says, no more."""
        if self.difference.low > 0:
            return f"{self.first} is better here; this is unlikely to be luck."
        if self.difference.high < 0:
            return f"{self.second} is better here; this is unlikely to be luck."
        return f"Too close to call with {self.seeds:,} seed{'' if self.seeds == 1 else 's'}."


def record(first: Side, second: Side) -> Record | None:
    """Of each seed that both have played in this environment the newest episode; None for an agent beside itself."""
    if _who(first) == _who(second):
        return None
    solved = _solved(first), _solved(second)
    shared = solved[0].keys() & solved[1].keys()
    counts = {(a, b): 0 for a in (True, False) for b in (True, False)}
    for seed in shared:
        counts[solved[0][seed], solved[1][seed]] += 1
    return Record(
        first.name,
        second.name,
        both=counts[True, True],
        only_first=counts[True, False],
        only_second=counts[False, True],
        neither=counts[False, False],
    )


def record_of(found: Sides) -> Record | None:
    """The same of a duel; None where there are more than two."""
    return record(*found.all) if len(found.all) == 2 else None


def _who(side: Side) -> tuple[int, int | None, str]:
    """The agent, and the person behind it where people play."""
    seat = side.shot.seat
    if side.agent.kind != Agent.Kind.HUMAN:
        return seat.agent_id, None, ""
    return seat.agent_id, seat.user_id, seat.visitor


def _solved(side: Side) -> dict[int, bool]:
    """Whether each seed was solved, by the newest episode of it."""
    episode, (agent, user, visitor) = side.episode, _who(side)
    person = Q(user=user) if user is not None else Q(user=None, visitor=visitor)
    seats = Seat.objects.filter(
        person if side.agent.kind == Agent.Kind.HUMAN else Q(),
        agent=agent,
        episode__env_id=episode.env_id,
        episode__env_version=episode.env_version,
        episode__env_kwargs=episode.env_kwargs,
        episode__wrappers=episode.wrappers,
        episode__status=Episode.Status.ENDED,
        episode__parent=None,
    )
    newest = seats.order_by("-episode__created").values_list("episode__seed", "episode__success")[:SEEDS_AT_MOST]
    return {seed: bool(success) for seed, success in reversed(newest)}


def _points(share: float) -> str:
    return f"{100 * share:.1f}".replace("-", "−")
