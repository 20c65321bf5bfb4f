"""Forks: from the state before a turn an episode is continued several times, so that the mean return says what the
state was worth, without a critic.

Which turn of an episode is forked is drawn, whatever was done in it: to choose it by its action would bias the
advantages. It is drawn among the turns that the episode had, and their number is an outcome, which has a price: the
sooner an episode ends after a turn, the more often the turn is forked, and so compared with its own state instead of
the whole batch. Where a state is worth more than the mean of the batch, an action that ends the episode sooner than
another of the same value therefore has the lower advantage, and where it is worth less, the higher one. Where all
turns are forked, or all episodes have equally many, this does not happen.

After `PILOT` continuations only those states are forked further at which they differ in what they return, because
where they do not, there is little to learn. That stopping looks at outcomes has a price too: the first continuations
are compared with others that are more often like them, so their advantages keep their sign but are too small, by up to
an eighth where four continuations are the most and each has one of two returns.

Source: values from Monte Carlo rollouts are those of VinePPO (Kazemnejad et al., arXiv 2410.01679), which forks every
turn and does not learn from the continuations.
"""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gem.analysis.true_advantage import turns
from gem.credit import returns_to_go
from gem.rng import SplitMix64, sample
from gem.rollout import EpisodeRequest, Start
from gem.training.collecting.batch import PlayedEpisode
from gem.training.spec import TrainingSpec

FORK_KEY, DRAW_KEY = 7, 8
"""What streams of random numbers are used for, besides those of `collector` and `self_play`."""
PILOT = 2
"""Continuations of every forked turn."""


@dataclass(slots=True)
class Fork:
    """A turn of an episode from which others continue."""

    index: int
    """Of all forks of the update, also those of other processes."""
    episode: PlayedEpisode
    """The episode that is forked."""
    start: Start
    """The state before the turn."""
    continuations: list[PlayedEpisode] = field(default_factory=list)

    @property
    def tokens(self) -> list[int]:
        """What was read and written before the turn in its sequence; empty if a sequence begins with the turn."""
        for sequence in self.episode.sequences:
            for before, response in itertools.pairwise(sequence.responses):
                if response.turn == self.start.turn:
                    return sequence.tokens[: before.start + before.length]
        return []

    @property
    def first_prompt(self) -> list[int]:
        """The prompt of the episode's first turn."""
        first = self.episode.sequences[0]
        return first.tokens[: first.responses[0].start]

    def spread(self, discount: float) -> float:
        """The standard deviation of what the continuations return."""
        returns = [returns_to_go(one.rewards, discount)[0] for one in self.continuations]
        return statistics.pstdev(returns) if len(returns) > 1 else 0.0

    def request(self, spec: TrainingSpec, update: int, number: int) -> EpisodeRequest:
        """The request of a continuation.

        Args:
            number: of the continuation, from 0.
        """
        identity = self.episode.record.identity
        key = 1 + int(SplitMix64(spec.seed, DRAW_KEY, update, self.index, number).random() * 2**53)
        return EpisodeRequest(
            self.index,
            identity.env_id,
            identity.seed,
            identity.env_kwargs,
            identity.wrappers,
            start=replace(self.start, draw_key=key),
        )

    def add(self, continuation: PlayedEpisode) -> None:
        """Keep a continuation; its responses are counted from the forked turn on, as its rewards are."""
        for response in continuation.responses:
            response.turn -= self.start.turn
        self.continuations.append(continuation)


def choose_forks(spec: TrainingSpec, update: int, episodes: Sequence[PlayedEpisode]) -> list[Fork]:
    """The turns that are forked of each episode, drawn among all that it had, whatever happened in them."""
    found = []
    for episode in episodes:
        record = episode.record
        count = min(spec.fork_turns, len(record.turns))
        chosen = sample(SplitMix64(spec.seed, FORK_KEY, update, record.index), range(len(record.turns)), count)
        places = {turn: place for place, turn in enumerate(sorted(chosen))}
        for start, _ in turns(record.identity, [turn.action for turn in record.turns], record.infos):
            if start.turn in places:
                found.append(Fork(record.index * spec.fork_turns + places[start.turn], episode, start))
            if start.turn >= max(chosen):
                break
    return found


def forked_states(episodes: Sequence[PlayedEpisode], forks: Sequence[Fork]) -> list[Mapping[int, int]]:
    """For each episode, its turns whose state was forked, with the number of the state.

    Args:
        episodes: those that were forked and their continuations.
    """
    states: dict[int, dict[int, int]] = {id(episode): {} for episode in episodes}
    for number, fork in enumerate(forks):
        states[id(fork.episode)][fork.start.turn] = number
        for continuation in fork.continuations:
            states[id(continuation)][0] = number
    return [states[id(episode)] for episode in episodes]
