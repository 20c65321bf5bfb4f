"""Two agents compared on all seeds of an environment that both have played."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Q

from apps.agents.models import Agent
from apps.duels.side_by_side import Side, Sides
from apps.episodes.models import Episode, Seat
from gem.evaluation.comparison.differences import LEVEL
from gem.evaluation.comparison.sign_flips import binomial_p
from gem.evaluation.scores import Interval, paired_difference

MAX_SEEDS = 20_000
"""Only the newest episodes of so many seeds are compared."""


@dataclass(frozen=True, slots=True)
class Record:
    """How many seeds both agents solved, only one of them, or neither."""

    first: str
    second: str
    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def seeds(self) -> int:
        """The number of seeds that both have played to the end."""
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
        """What may be claimed, as a sentence.

        One is better if the interval of the difference leaves out zero and McNemar's exact test agrees: of few seeds,
        the interval alone leaves it out far too often.
        """
        better = self.first if self.difference.low > 0 else self.second if self.difference.high < 0 else ""
        if better and binomial_p(self.only_first, self.only_first + self.only_second) < LEVEL:
            return f"{better} is better here; this is unlikely to be luck."
        why = " by McNemar's exact test" if better else ""
        return f"Too close to call{why} with {self.seeds:,} seed{'' if self.seeds == 1 else 's'}."


def record(first: Side, second: Side) -> Record | None:
    """Compare two agents by their newest episode of each seed that both have played.

    Besides the two episodes on the page, only public ones count, so that everybody reads the same numbers.
    Returns None if both sides are the same agent.
    """
    if _player(first) == _player(second):
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


def record_of(sides: Sides) -> Record | None:
    """Compare the two agents of a duel; None if it has more than two."""
    return record(*sides.all) if len(sides.all) == 2 else None


def _player(side: Side) -> tuple[int, int | None, str]:
    """The agent and, if a person plays, the account or visitor key of the person."""
    seat = side.shot.seat
    if side.agent.kind != Agent.Kind.HUMAN:
        return seat.agent_id, None, ""
    return seat.agent_id, seat.user_id, seat.visitor


def _solved(side: Side) -> dict[int, bool]:
    """Whether each seed was solved in its newest episode that counts."""
    episode, (agent, user, visitor) = side.episode, _player(side)
    person = Q(user=user) if user is not None else Q(user=None, visitor=visitor)
    counted = Q(episode__in=Episode.objects.published()) | Q(episode=episode.pk)
    seats = Seat.objects.filter(
        counted,
        person if side.agent.kind == Agent.Kind.HUMAN else Q(),
        agent=agent,
        episode__env_id=episode.env_id,
        episode__env_version=episode.env_version,
        episode__env_kwargs=episode.env_kwargs,
        episode__wrappers=episode.wrappers,
        episode__status=Episode.Status.ENDED,
        episode__parent=None,
        episode__taken_over=False,
    )
    newest = seats.order_by("-episode__created").values_list("episode__seed", "episode__success")[:MAX_SEEDS]
    return {seed: bool(success) for seed, success in reversed(newest)}


def _points(share: float) -> str:
    return f"{100 * share:.1f}".replace("-", "−")
