"""Plays the episodes of an update: a fixed number of complete ones, in groups that share a seed if the algorithm
compares episodes of one seed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType

from gem.agents.agent import Decision, Request
from gem.credit import are_equal
from gem.records import EpisodeRecord
from gem.rng import SplitMix64
from gem.rollout import EpisodeRequest, rollout
from gem.training.collecting.batch import PlayedEpisode, RolloutBatch, seen_from
from gem.training.collecting.forks import FORK_KEY, PILOT, choose_forks
from gem.training.collecting.pool import NOW, Pool
from gem.training.collecting.retries import choose_retries
from gem.training.collecting.self_play import Match, SelfPlay, played_game
from gem.training.policy.contexts import ContextWriter
from gem.training.policy.policies import Policy
from gem.training.policy.sampler import Sampler
from gem.training.policy.tokenizing_agent import TokenizingAgent
from gem.training.spec import Stage, TrainingSpec

FIRST_SEED = 2**40
"""The smallest seed of a training. Evaluations and benchmarks use small seeds, so no training meets them."""
LAST_SEED = 2**53
FIRST_HELD_OUT_SEED = 2**39
"""The smallest held-out seed. Neither trainings nor benchmarks use seeds from here to `FIRST_SEED`, so choosing a
checkpoint by its held-out results does not use any benchmark's seeds."""
EPISODE_KEY, RESPONSE_KEY, EXAM_KEY, HELD_OUT_KEY = 1, 2, 3, 4
"""What a stream of random numbers is used for; part of the key from which it is seeded."""

StageOf = Callable[[int], Stage]
"""Says in which stage a group of episodes is played, by its index."""


class Collector:
    """Plays batches of episodes with a policy.

    Args:
        share: the indices of the episodes that this process plays of every batch.
        pool: opponents, if the policy plays both seats.
        make_policy: makes a policy that plays with the weights of opponents.
    """

    def __init__(
        self,
        spec: TrainingSpec,
        policy: Policy,
        sampler: Sampler,
        share: range,
        pool: Pool | None = None,
        make_policy: Callable[[], Policy] | None = None,
    ) -> None:
        self.spec = spec
        self.share = share
        self._update = 0
        self._stream: tuple[int, ...] = ()
        """The part of the random numbers' key that all responses of a batch share."""
        writer = ContextWriter(
            policy.prompt_format,
            input_mode=spec.input_mode,
            max_tokens=spec.max_tokens,
            max_length=spec.max_length,
        )
        self._self_play: SelfPlay | None = None
        if pool is not None:
            assert make_policy is not None
            self._self_play = SelfPlay(spec, pool, writer, make_policy)
        self._agent = TokenizingAgent(
            writer,
            sampler,
            temperature=spec.temperature,
            make_rng=self._make_rng,
            capacity=capacity_of(spec, len(share)),
        )

    def collect(self, update: int, stage_of: StageOf, unsolved: Sequence[int] = ()) -> RolloutBatch:
        """Play the batch of an update, which follows from the training's seed, the update and the policy's weights.

        Some groups may try seeds again that were not solved (see `retries`), the others have new seeds.
        With dynamic sampling, groups whose episodes all have the same return are then replaced by groups of other
        seeds, for some rounds. What is without signal after the last round stays, and teaches nothing. With forks,
        some turns are then continued anew (see `forks`).

        Args:
            stage_of: says in which stage of the curriculum a group is played.
            unsolved: seeds that were not solved yet.

        Source: DAPO (Yu et al., arXiv 2503.14476), section 3.2.
        """
        retries = choose_retries(self.spec, update, {i // self.spec.group: None for i in self.share}, unsolved)
        batch = self._play_round(update, stage_of, self.share, 0, retries)
        batch.retried = set(retries)
        if self.spec.fork_turns:
            self._fork(update, batch)
        for number in range(1, self.spec.dynamic_sampling + 1):
            groups = _without_signal(batch.episodes)
            if not groups:
                break
            indices = [i for i in self.share if i // self.spec.group in groups]
            batch = _replace(batch, groups, self._play_round(update, stage_of, indices, number))
        return batch

    def _play_round(
        self,
        update: int,
        stage_of: StageOf,
        indices: Sequence[int],
        number: int,
        seeds: Mapping[int, int] = MappingProxyType({}),
    ) -> RolloutBatch:
        """Play the episodes of some indices.

        Args:
            number: of the round; each has seeds and random numbers of its own.
            seeds: those of the groups that do not get a new one.
        """
        self._update, self._stream = update, (RESPONSE_KEY, update, number) if number else (RESPONSE_KEY, update)
        self._agent.forget()
        agent, group_size = _TimedAgent(self._agent), self.spec.group
        matches = {i: self._match(i // group_size) for i in indices}
        stages = {i: stage_of(i // group_size) for i in indices}
        requests = [
            EpisodeRequest(
                i,
                stages[i].env_id,
                seeds.get(i // group_size) or self._seed(i // group_size, number),
                stages[i].env_kwargs,
                self.spec.wrappers,
                seat=matches[i].seat,
            )
            for i in indices
        ]
        opponent = self._self_play.opponents(update, matches, self._agent) if self._self_play is not None else None
        began = time.perf_counter()
        records = rollout(agent, requests, num_envs=len(requests), opponent=opponent)
        ordered = sorted(records, key=lambda record: record.index)
        seconds = time.perf_counter() - began
        complete = [record for record in ordered if not record.failure]
        return RolloutBatch(
            [episode for record in complete for episode in self._episodes_of(record, matches[record.index])],
            [record for record in ordered if record.failure],
            agent.seconds,
            seconds - agent.seconds,
            games=[played_game(record, matches[record.index]) for record in complete] if opponent is not None else [],
        )

    def _fork(self, update: int, batch: RolloutBatch) -> None:
        """Continue some turns of a batch anew; more than a few times where the continuations differ."""
        began, agent = time.perf_counter(), _TimedAgent(self._agent)
        batch.forks = choose_forks(self.spec, update, batch.episodes)
        for number in range(self.spec.fork_count):
            self._stream = (FORK_KEY, update, number)
            self._agent.forget()
            forks = [fork for fork in batch.forks if number < PILOT or fork.spread(self.spec.discount) > 0]
            requests = [fork.request(self.spec, update, number) for fork in forks]
            by_index = {fork.index: fork for fork in forks}
            for fork in forks:
                if fork.tokens:
                    self._agent.resume((fork.index, 0), fork.start.turn, fork.tokens, fork.first_prompt)
            for record in rollout(agent, requests, num_envs=max(1, len(requests))):
                if record.failure:
                    batch.failures.append(record)
                else:
                    context, fork = self._agent.contexts[record.index, 0], by_index[record.index]
                    fork.add(PlayedEpisode(record, context.sequences, fork.episode.group))
        batch.generation_seconds += agent.seconds
        batch.environment_seconds += time.perf_counter() - began - agent.seconds

    def _match(self, group: int) -> Match:
        return self._self_play.match(self._update, group) if self._self_play is not None else Match(0, NOW)

    def _episodes_of(self, record: EpisodeRecord, match: Match) -> Iterator[PlayedEpisode]:
        """What is learned from an episode: one for each seat that the policy had and acted in."""
        group, groups = record.index // self.spec.group, self.spec.episodes // self.spec.group
        for seat in (0, 1) if self._self_play is not None and match.opponent == NOW else (match.seat,):
            context = self._agent.contexts.get((record.index, seat))
            if context is not None:
                own = record if seat == record.seat else seen_from(record, seat)
                yield PlayedEpisode(own, context.sequences, group + seat * groups * (match.opponent == NOW))

    def play_exam(self, stage: Stage, episodes: int) -> list[PlayedEpisode]:
        """Play episodes on the seeds 0, 1, ... with the same random numbers for every policy."""
        return self._play_unlearned(stage, EXAM_KEY, 0, range(min(episodes, len(self.share))))

    def play_held_out(self, stage: Stage, indices: range) -> list[PlayedEpisode]:
        """Play episodes on the held-out seeds with these indices, with the same random numbers for every policy."""
        return self._play_unlearned(stage, HELD_OUT_KEY, FIRST_HELD_OUT_SEED, indices)

    def _play_unlearned(self, stage: Stage, key: int, first_seed: int, indices: range) -> list[PlayedEpisode]:
        """Play episodes that are not learned from."""
        self._stream = (key,)
        self._agent.forget()
        requests = [
            EpisodeRequest(i, stage.env_id, first_seed + i, stage.env_kwargs, self.spec.wrappers) for i in indices
        ]
        num_envs = max(1, min(len(requests), len(self.share)))
        records = sorted(rollout(self._agent, requests, num_envs=num_envs), key=lambda record: record.index)
        return [PlayedEpisode(record, [], record.index) for record in records]

    def _seed(self, group: int, number: int = 0) -> int:
        """The seed of a group in a round."""
        key = (self._update, group, number) if number else (self._update, group)
        fraction = SplitMix64(self.spec.seed, EPISODE_KEY, *key).random()
        return FIRST_SEED + int(fraction * (LAST_SEED - FIRST_SEED))

    def _make_rng(self, request: Request) -> SplitMix64:
        return SplitMix64(self.spec.seed, *self._stream, request.episode, request.turn)


def capacity_of(spec: TrainingSpec, episodes: int) -> int:
    """How many contexts a policy needs for so many episodes at the same time: one for each seat that it may have, or
    for each turn of an episode that may be forked."""
    return episodes * max(2 if spec.self_play else 1, spec.fork_turns)


def _without_signal(episodes: Sequence[PlayedEpisode]) -> set[int]:
    """The groups whose episodes all have the same return, so that GRPO's advantages are 0."""
    returns: dict[int, list[float]] = {}
    for episode in episodes:
        returns.setdefault(episode.group, []).append(episode.record.total_reward)
    return {group for group, values in returns.items() if are_equal(values)}


def _replace(batch: RolloutBatch, groups: set[int], anew: RolloutBatch) -> RolloutBatch:
    """The batch with some groups replaced by those that were played anew."""
    played = {episode.group for episode in anew.episodes}
    given_up = [episode for episode in batch.episodes if episode.group in groups & played]
    kept = [episode for episode in batch.episodes if episode.group not in groups & played]
    return RolloutBatch(
        episodes=sorted([*kept, *anew.episodes], key=lambda episode: episode.record.index),
        failures=[*batch.failures, *anew.failures],
        generation_seconds=batch.generation_seconds + anew.generation_seconds,
        environment_seconds=batch.environment_seconds + anew.environment_seconds,
        first_round=batch.first,
        retried=batch.retried,
        replaced=[*batch.replaced, *given_up],
    )


class _TimedAgent:
    """An agent that adds up the seconds its decisions take."""

    def __init__(self, agent: TokenizingAgent) -> None:
        self._agent = agent
        self.name = agent.name
        self.seconds = 0.0

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        began = time.perf_counter()
        decisions = self._agent.act(requests)
        self.seconds += time.perf_counter() - began
        return decisions
