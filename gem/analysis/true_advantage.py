"""The true advantage of a turn, measured by forking: how much better its action was than the agent's usual ones.

From the state before a turn, an agent continues the episode many times: after the action that was taken, and choosing
anew. The true advantage is the difference of the two mean returns, Q(s, a) - V(s) of this agent, with an interval.

    for start, action in turns(identity, actions):
        continuations = fork(make_agent("random"), identity, start, action, count=64)
        true_advantage(continuations, discount=0.9).mean

Every continuation draws from generators of its own (`Env.draw_anew`). What the reset has drawn stays, such as a secret
number: the advantage is that of this seed, and not of all seeds on which the agent would have read the same. The
rewards of all continuations are kept, so any discount can be applied later.

Source: the definition of Q, V and A in Sutton and Barto, Reinforcement Learning (2018), chapter 3, estimated by Monte
Carlo rollouts from a saved state, as in VinePPO (Kazemnejad et al., arXiv 2410.01679).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import NamedTuple

from gem.agents.agent import AnyAgent, Exchange
from gem.core import Info
from gem.errors import InvalidArgument
from gem.evaluation.intervals import student_quantile
from gem.records import EpisodeRecord, Identity
from gem.replay import make_env
from gem.rng import SplitMix64
from gem.rollout import EpisodeRequest, Start, rollout


@dataclass(frozen=True, slots=True)
class Outcome:
    """Continuations with the same rewards."""

    n: int
    """How many continuations have these rewards."""
    rewards: tuple[tuple[int, float], ...]
    """Each reward that is not 0, with the number of its turn; the turn that was forked is 0."""


@dataclass(frozen=True, slots=True)
class Continuations:
    """How an agent continued from the state before a turn."""

    taken: tuple[Outcome, ...]
    """After the action that was taken."""
    anew: tuple[Outcome, ...]
    """Choosing anew."""
    failed: int = 0
    """Continuations that an error ended; they do not count."""
    failure: str = ""
    """The first of these errors."""


class Advantage(NamedTuple):
    """The true advantage of a turn at one discount."""

    mean: float
    half_width: float | None
    """Half of the 95 % interval; None if all continuations of each kind have the same return."""
    after: float
    """The mean return after the action that was taken: Q."""
    before: float
    """The mean return when the agent chooses anew: V."""


# ------------------------------------------------------------------ playing


def turns(identity: Identity, actions: Sequence[str], infos: Sequence[Info] = ()) -> Iterator[tuple[Start, str]]:
    """Yield the state before each turn of a recorded episode with one seat, and the action that was taken in it.

    Args:
        infos: see `gem.replay.restore`.

    Raises:
        VersionChanged: see `gem.replay.make_env`.
        EpisodeOver: if there are actions after the end.
        MissingMethod: if the environment has no state that can be saved.
    """
    env = make_env(identity)
    tape = chain(infos, repeat({}))
    env.feed_tape(next(tape))
    observation, info = env.reset(seed=identity.seed)
    past: list[Exchange] = []
    for number, action in enumerate(actions):
        yield Start(json.loads(json.dumps(env.get_state())), observation, info, number, tuple(past)), action
        past.append(Exchange(observation, info, action))
        env.feed_tape(next(tape))
        observation, _, _, _, info = env.step(action)


def fork(
    agent: AnyAgent,
    identity: Identity,
    start: Start,
    action: str,
    *,
    count: int,
    key: int = 0,
    stops: Callable[[], bool] = lambda: False,
) -> Continuations | None:
    """Continue an episode `count` times after `action`, and `count` times with the agent choosing anew.

    Args:
        start: the state before the turn (see `turns`).
        key: makes the continuations of two calls different; equal keys give equal ones, if the agent decides alike.
        stops: is asked before every turn whether to stop.

    Returns:
        None if it was stopped.

    Raises:
        AgentStopped: if the agent cannot be used any longer.
    """
    draws = SplitMix64(key, start.turn)
    first = 2 * count * start.turn  # policies remember episodes by their index, so those of all turns differ
    requests = [
        EpisodeRequest(
            first + number,
            identity.env_id,
            identity.seed,
            identity.env_kwargs,
            identity.wrappers,
            start=replace(start, action=given, draw_key=1 + int(draws.random() * 2**53)),
        )
        for number, given in enumerate([action] * count + [None] * count)
    ]
    has_stopped = False

    def broken_off(_: int) -> str:
        nonlocal has_stopped
        has_stopped = has_stopped or stops()
        return "stopped" if has_stopped else ""

    counters: tuple[Counter[tuple[tuple[int, float], ...]], ...] = (Counter(), Counter())
    failures = []
    for record in rollout(agent, requests, num_envs=2 * count, broken_off=broken_off):
        if record.failure:
            failures.append(record.failure)
        else:
            counters[record.index >= first + count][_rewards(record)] += 1
    if has_stopped:
        return None
    taken, anew = (tuple(Outcome(n, rewards) for rewards, n in sorted(counter.items())) for counter in counters)
    return Continuations(taken, anew, len(failures), failures[0] if failures else "")


def _rewards(record: EpisodeRecord) -> tuple[tuple[int, float], ...]:
    return tuple((number, float(turn.reward)) for number, turn in enumerate(record.turns) if turn.reward)


# ------------------------------------------------------------------ computing


def true_advantage(continuations: Continuations, discount: float) -> Advantage:
    """Compute the true advantage of a turn, with Welch's 95 % interval.

    Where all continuations of one kind have the same return, their spread is taken to be that of both kinds together:
    that 16 tries ended alike does not prove that all would.

    Raises:
        InvalidArgument: if there are no continuations of one kind.
    """
    taken, anew = _returns(continuations.taken, discount), _returns(continuations.anew, discount)
    if not taken or not anew:
        raise InvalidArgument("A true advantage needs continuations of both kinds.")
    after, before = _moments(taken), _moments(anew)
    return Advantage(after.mean - before.mean, half_width(after, before), after.mean, before.mean)


class Moments(NamedTuple):
    """The mean of some returns, and how they vary."""

    n: int
    mean: float
    squares: float
    """The sum of the squared deviations from the mean."""


def half_width(first: Moments, second: Moments) -> float | None:
    """Half of Welch's 95 % interval for the difference of two means; None if nothing varies.

    Source: B. L. Welch, The generalization of "Student's" problem when several different population variances are
    involved, 1947.
    """
    freedom = first.n + second.n - 2
    if freedom < 1 or first.squares + second.squares <= 1e-18:
        return None
    pooled = (first.squares + second.squares) / freedom
    errors = []  # the squared standard error of each mean, and its degrees of freedom
    for part in (first, second):
        varies = part.squares > 1e-18 and part.n > 1
        errors.append((part.squares / (part.n - 1) if varies else pooled) / part.n)
    freedoms = [max(1, part.n - 1) for part in (first, second)]
    welch = sum(errors) ** 2 / sum(error**2 / own for error, own in zip(errors, freedoms, strict=True))
    return student_quantile(welch) * math.sqrt(sum(errors))


def _returns(outcomes: Sequence[Outcome], discount: float) -> list[tuple[int, float]]:
    """The discounted return of each outcome, with the number of continuations that have it."""
    return [(outcome.n, math.fsum(reward * discount**turn for turn, reward in outcome.rewards)) for outcome in outcomes]


def _moments(returns: Sequence[tuple[int, float]]) -> Moments:
    n = sum(count for count, _ in returns)
    mean = math.fsum(count * value for count, value in returns) / n
    return Moments(n, mean, math.fsum(count * (value - mean) ** 2 for count, value in returns))
