"""The same seeds in two runs, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from gem.evaluation.comparison.runs import Measure, Run, ScoredEpisode
from gem.evaluation.intervals import SAME

Outcome = Literal["won", "lost", "tie"]
_Place = tuple[str, int]
"""An environment and a seed."""
_BySeat = dict[int, list[ScoredEpisode]]


class SeedPair(NamedTuple):
    """One seed of an environment as both runs have played it: both seats and all tries of the seed together."""

    env_id: str
    seed: int
    first: float
    """The mean result of the first run, over the seats that both have played."""
    second: float
    first_episodes: tuple[str, ...] = ()
    """The names of the episodes of the first run."""
    second_episodes: tuple[str, ...] = ()

    @property
    def difference(self) -> float:
        """The first run's result minus the second's."""
        return self.first - self.second

    @property
    def outcome(self) -> Outcome:
        """Whether the first run won, lost or tied on this seed."""
        if abs(self.difference) <= SAME * max(1.0, abs(self.first), abs(self.second)):
            return "tie"
        return "won" if self.difference > 0 else "lost"


class Pairing(NamedTuple):
    """The seeds of two runs."""

    pairs: list[SeedPair]
    """The seeds that count in both, by environment in the order of the first run, and then by seed."""
    only_first: int
    """Seeds that only the first run has played."""
    only_second: int
    uncounted: int
    """Seeds that both have played, and of which one or both have no episode that counts."""
    single: bool
    """Whether each run has one episode for each seed, so that the exact test of McNemar applies."""


def pair(first: Run, second: Run, measure: Measure) -> Pairing:
    """Bring the seeds of two runs together.

    A seed's difference is the mean over the seats that both have played, of the mean over tries.
    """
    first_places, second_places = _by_place(first), _by_place(second)
    pairs, uncounted, single = [], 0, True
    for env_id, seed in _ordered(first, first_places.keys() & second_places.keys()):
        seats = first_places[env_id, seed], second_places[env_id, seed]
        shared = sorted(seats[0].keys() & seats[1].keys())
        if not shared:
            uncounted += 1
            continue
        single = single and len(shared) == 1 and all(len(own[shared[0]]) == 1 for own in seats)
        means = [sum(_mean(own[seat], measure) for seat in shared) / len(shared) for own in seats]
        names = [tuple(episode.name for seat in shared for episode in own[seat]) for own in seats]
        pairs.append(SeedPair(env_id, seed, means[0], means[1], names[0], names[1]))
    return Pairing(
        pairs,
        only_first=len(first_places.keys() - second_places.keys()),
        only_second=len(second_places.keys() - first_places.keys()),
        uncounted=uncounted,
        single=single and bool(pairs),
    )


def _by_place(run: Run) -> dict[_Place, _BySeat]:
    """The episodes that count, by environment and seed and by seat; a seed without any has no seats."""
    places: dict[_Place, _BySeat] = {}
    for episode in run.episodes:
        seats = places.setdefault((episode.env_id, episode.seed), {})
        if episode.counts:
            seats.setdefault(episode.seat, []).append(episode)
    return places


def _ordered(first: Run, places: set[_Place]) -> list[_Place]:
    rank: dict[str, int] = {}
    for episode in first.episodes:
        rank.setdefault(episode.env_id, len(rank))
    return sorted(places, key=lambda place: (rank[place[0]], place[1]))


def _mean(tries: Sequence[ScoredEpisode], measure: Measure) -> float:
    return sum(episode.value(measure) for episode in tries) / len(tries)
