"""The pairings of a training in which the policy plays both seats, and how the opponents decide."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from torch import Tensor

from gem.agents.agent import Agent, Decision, Request, decisions_of
from gem.agents.kinds import make_agent
from gem.records import EpisodeRecord
from gem.rng import RandomSource, SplitMix64, choice
from gem.training.collecting.pool import NOW, Played, Pool
from gem.training.policy.contexts import ContextWriter
from gem.training.policy.policies import Policy
from gem.training.policy.sampler import Response, Sampler, make_sampler
from gem.training.policy.tokenizing_agent import TokenizingAgent
from gem.training.spec import TrainingSpec

MATCH_KEY, OPPONENT_KEY = 5, 6
"""What a stream of random numbers is used for, besides those of `collector`."""


class Match(NamedTuple):
    """How an episode is played."""

    seat: int
    """The seat of the policy."""
    opponent: str
    """The player in the other seat: a name in the pool, or NOW for the policy itself."""


class SelfPlay:
    """Draws opponents from a pool and lets them play.

    Args:
        make_policy: makes a policy whose weights are replaced by those of opponents.
    """

    def __init__(
        self, spec: TrainingSpec, pool: Pool, writer: ContextWriter, make_policy: Callable[[], Policy]
    ) -> None:
        self.spec, self.pool, self.writer = spec, pool, writer
        self._make_policy = make_policy
        self._borrowed: _BorrowedPolicy | None = None

    def match(self, update: int, group: int) -> Match:
        """How the episodes of a group are played in an update; the seats take turns."""
        rng = SplitMix64(self.spec.seed, MATCH_KEY, update, group)
        names = self.pool.names
        is_of_pool = names and rng.random() < self.spec.pool_share
        return Match((group + update) % 2, choice(rng, names) if is_of_pool else NOW)

    def opponents(self, update: int, matches: Mapping[int, Match], itself: Agent) -> Agent:
        """The agent for the other seats of some episodes.

        Args:
            matches: by the episode's index.
            itself: the policy, for episodes in which it has both seats.
        """
        counts: dict[str, int] = {}
        for match in matches.values():
            counts[match.opponent] = counts.get(match.opponent, 0) + 1
        agents = {name: itself if name == NOW else self._agent(name, count, update) for name, count in counts.items()}
        return _Opponents({index: agents[match.opponent] for index, match in matches.items()})

    def _agent(self, name: str, capacity: int, update: int) -> Agent:
        if name in self.pool.agents:
            return make_agent(name)
        if self._borrowed is None:
            self._borrowed = _BorrowedPolicy(self._make_policy())

        def make_rng(request: Request) -> RandomSource:
            return SplitMix64(self.spec.seed, OPPONENT_KEY, update, request.episode, request.turn)

        sampler = self._borrowed.sampler(self.pool.weights[int(name)], self.spec, capacity)
        return TokenizingAgent(
            self.writer, sampler, temperature=self.spec.temperature, make_rng=make_rng, capacity=capacity
        )


def played_game(record: EpisodeRecord, match: Match) -> Played:
    """The game that an episode was: a higher return than the other seat's has won."""
    own, other = record.total_rewards[match.seat], record.total_rewards[1 - match.seat]
    if match.seat == 0:
        return Played(NOW, match.opponent, "won" if own > other else "lost" if own < other else "tied")
    return Played(match.opponent, NOW, "lost" if own > other else "won" if own < other else "tied")


class _Opponents:
    """Asks for each episode the agent that has its other seat."""

    name = "opponents"

    def __init__(self, by_episode: Mapping[int, Agent]) -> None:
        self._by_episode = by_episode

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        """See `Agent.act`."""
        places: dict[int, list[int]] = {}
        for place, request in enumerate(requests):
            places.setdefault(id(self._by_episode[request.episode]), []).append(place)
        decisions: dict[int, Decision] = {}
        for own in places.values():
            agent = self._by_episode[requests[own[0]].episode]
            decisions |= zip(own, decisions_of(agent, [requests[place] for place in own]), strict=True)
        return [decisions[place] for place in range(len(requests))]


class _BorrowedPolicy:
    """One policy that plays with the weights of whoever is asked, so that a pool takes no more memory than these."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy.eval().requires_grad_(requires_grad=False)
        self._parameters = dict(policy.named_parameters())
        self._owner: Mapping[str, Tensor] | None = None

    def sampler(self, weights: Mapping[str, Tensor], spec: TrainingSpec, capacity: int) -> Sampler:
        """A sampler that writes with these weights."""
        own = make_sampler(self.policy, capacity, spec.max_tokens, spec.microbatch_tokens, spec.generation_tokens)
        return _WeightedSampler(own, lambda: self._load(weights))

    def _load(self, weights: Mapping[str, Tensor]) -> None:
        if self._owner is not weights:
            for name, tensor in weights.items():
                self._parameters[name].copy_(tensor)
            self._owner = weights


class _WeightedSampler:
    """A sampler that loads the weights it writes with before every response."""

    def __init__(self, sampler: Sampler, load: Callable[[], None]) -> None:
        self._sampler, self._load = sampler, load

    def refresh(self) -> None:
        """See `Sampler.refresh`."""
        self._sampler.refresh()

    def respond(
        self, prompts: Sequence[Sequence[int]], slots: Sequence[int], rngs: Sequence[RandomSource], temperature: float
    ) -> list[Response]:
        """See `Sampler.respond`."""
        self._load()
        return self._sampler.respond(prompts, slots, rngs, temperature)


def learned_weights(parameters: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What enters the pool of a policy's trained parameters: all but the critic."""
    return {name: tensor for name, tensor in parameters.items() if not name.startswith("value_head.")}


def distinct(games: Iterable[Played]) -> dict[Played, int]:
    """How often each game was played."""
    counts: dict[Played, int] = {}
    for game in games:
        counts[game] = counts.get(game, 0) + 1
    return counts


def pool_metrics(pool: Pool, games: Iterable[tuple[Played, int]]) -> dict[str, float]:
    """What a batch's games against the pool say, under the names that metrics have in run folders.

    Args:
        games: with how often each happened.
    """
    score, count = 0.0, 0
    for game, times in games:
        own = "won" if game.first == NOW else "lost"
        score += times * (1.0 if game.result == own else 0.5 if game.result == "tied" else 0.0)
        count += times
    ratings = pool.ratings()
    metrics = {"pool_games": float(count), "pool_score": score / max(count, 1)}
    if NOW in ratings:
        metrics["rating"] = ratings[NOW]
    return metrics | {f"rating_of_{name}": ratings[name] for name in pool.names if name in ratings}
