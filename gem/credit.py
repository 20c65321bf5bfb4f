"""Credit assignment: returns and advantages of actions, by algorithm, in pure functions of plain numbers without torch.

An action is the whole response of a turn, so returns and advantages are one number for each turn; the learner gives
all tokens of a response the advantage of their turn. `Turns` has one list of such numbers for each episode of a batch.

    credit = compute_advantages("rebn", [[0, 0, 1], [0, -0.1]], discount=0.9)
    credit.advantages            # of the same shape as the rewards

Two other views of an action are there to compare with: a token, as in most trainings of language models, or the whole
episode, as in GRPO and other methods for one turn (`CreditUnit`). Formulas and discount are those of turns, with the
tokens of an episode in the place of its turns, or with one action for each episode.

    lengths = [[2, 1, 3], [4, 2]]                       # tokens of each response
    credit = compute_advantages("rebn", [[0, 0, 1], [0, -0.1]], unit="token", lengths=lengths)
    by_turn(credit.advantages, lengths, "token")        # for each turn the numbers of its tokens
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import accumulate, chain
from typing import Literal, NamedTuple, get_args

from gem.errors import InvalidArgument

Algorithm = Literal["reinforce", "rebn", "grpo", "ppo"]


class AlgorithmInfo(NamedTuple):
    """The properties of an algorithm."""

    title: str
    """The name in tables and figures."""
    description: str
    """The name in forms and lists of choices."""
    has_critic: bool = False
    """Whether it needs the value of every turn, which a critic estimates."""
    has_groups: bool = False
    """Whether it compares the episodes of a group, which have the same seed."""
    discounts: bool = True
    """Whether its advantages depend on the discount."""


ALGORITHMS: Mapping[Algorithm, AlgorithmInfo] = {
    "reinforce": AlgorithmInfo("REINFORCE", "REINFORCE"),
    "rebn": AlgorithmInfo("ReBN", "REINFORCE + ReBN"),
    "grpo": AlgorithmInfo("GRPO", "GRPO", has_groups=True, discounts=False),
    "ppo": AlgorithmInfo("PPO", "PPO", has_critic=True),
}
"""Every algorithm, in the order in which they are listed; `compute_advantages` has their formulas."""

CreditUnit = Literal["token", "turn", "episode"]
"""The unit of credit, that is, one action: a token, the response of a turn, or all responses of an episode together.

Source: GEM (arXiv 2510.01051), section 3, which compares the three and chooses the turn.
"""
CREDIT_UNITS: tuple[CreditUnit, ...] = get_args(CreditUnit)

Turns = list[list[float]]
"""One number for each turn of each episode; of each token or of the episode, if that is the unit of credit."""
Gather = Callable[[list[float]], list[float]]
"""A function that takes the numbers of this process and returns those of all processes (an all-gather)."""

BATCH_EPSILON = 1e-9
"""A constant that is added to the standard deviation over a batch, as in GEM."""
GROUP_EPSILON = 1e-6
"""A constant that is added to the standard deviation within a group; unequal returns differ by more than this."""
SAME = 1e-9
"""Numbers that differ by less are equal, because sums of the same rewards may differ in their last digit."""


class Moments(NamedTuple):
    """The mean and the population standard deviation of some numbers."""

    mean: float
    deviation: float


class Credit(NamedTuple):
    """The result of credit assignment for a batch: one number for each action of each episode."""

    advantages: Turns
    """The factors by which the learner multiplies the log-probabilities of the responses."""
    targets: Turns
    """The returns to go; with PPO the values that the critic is trained to predict."""


def compute_advantages(
    algorithm: Algorithm,
    rewards: Sequence[Sequence[float]],
    *,
    discount: float = 1.0,
    gae_lambda: float = 0.95,
    values: Sequence[Sequence[float]] = (),
    groups: Sequence[int] = (),
    scale_groups: bool = True,
    gather: Gather = list,
    unit: CreditUnit = "turn",
    lengths: Sequence[Sequence[int]] = (),
) -> Credit:
    """Compute the advantage of every action of a batch of complete episodes.

    Args:
        rewards: the reward of each turn of each episode.
        discount: gamma of REINFORCE, ReBN and PPO, from one action to the next; GRPO compares whole episodes and does
            not use it, and neither does anything if an episode is one action.
        gae_lambda: lambda of the generalized advantage estimate, for PPO.
        values: the critic's estimate before each action, for PPO.
        groups: the number of the group that each episode belongs to (the episodes of one seed), for GRPO.
        scale_groups: whether to divide by the group's standard deviation, for GRPO.
        gather: if the batch is spread over several processes, collects numbers from all of them.
        unit: what one action is. With GRPO it makes no difference.
        lengths: the number of tokens of each response, of the same shape as `rewards`, if the unit is a token.

    Raises:
        InvalidArgument: if the algorithm is unknown, or lacks its values, groups or lengths.
    """
    rewards = action_rewards(rewards, unit, lengths)
    to_go = [returns_to_go(turns, discount) for turns in rewards]
    if algorithm == "reinforce":
        return Credit(to_go, to_go)
    if algorithm == "rebn":
        return Credit(normalize(to_go, gather), to_go)
    if algorithm == "grpo":
        if len(groups) != len(rewards):
            raise InvalidArgument(f"GRPO needs the group of each of {len(rewards)} episodes, not {len(groups)}.")
        totals = [math.fsum(turns) for turns in rewards]
        relative = group_relative(totals, groups, scale=scale_groups)
        return Credit([[advantage] * len(turns) for advantage, turns in zip(relative, rewards, strict=True)], to_go)
    if algorithm == "ppo":
        if [len(turns) for turns in values] != [len(turns) for turns in rewards]:
            raise InvalidArgument(f"PPO needs the critic's value of every {unit}.")
        raw_advantages = [
            gae(turns, baseline, discount, gae_lambda) for turns, baseline in zip(rewards, values, strict=True)
        ]
        targets = [[a + v for a, v in zip(*pair, strict=True)] for pair in zip(raw_advantages, values, strict=True)]
        return Credit(normalize(raw_advantages, gather), targets)
    raise InvalidArgument(f"There is no algorithm {algorithm!r}; choose one of {', '.join(ALGORITHMS)}.")


def forked_advantages(
    rewards: Sequence[Sequence[float]],
    states: Sequence[Mapping[int, int]],
    *,
    discount: float,
    gather: Gather = list,
) -> Credit:
    """Compute the advantages of turns where some states were continued several times, without a critic.

    What a turn brought is its reward and what came after it: the mean over all episodes that continued from the next
    state, if that was forked, and otherwise the return of its own. It is compared with the mean of the other episodes
    that continued from the same state, or, where there are none, with the mean over such turns of the batch. The
    differences are divided by their standard deviation over the batch.

    Args:
        rewards: the reward of each turn of each episode; that of a continuation begins with the forked turn.
        states: for each episode, its turns whose state was forked, each with the state's number.
        gather: if the batch is spread over several processes, collects numbers from all of them.

    Source: values from rollouts as in VinePPO (Kazemnejad et al., arXiv 2410.01679), which this is if every turn is
    forked; compared with the others as in RLOO (Ahmadian et al., arXiv 2402.14740); scaled as in ReBN.
    """
    brought = _brought(rewards, states, discount)
    samples: dict[int, list[float]] = {}
    for own, own_states in zip(brought, states, strict=True):
        for turn, state in own_states.items():
            samples.setdefault(state, []).append(own[turn])
    totals = {state: (math.fsum(values), len(values)) for state, values in samples.items()}
    alone = [
        value
        for own, own_states in zip(brought, states, strict=True)
        for turn, value in enumerate(own)
        if turn not in own_states or totals[own_states[turn]][1] < 2
    ]
    usual = moments(gather(alone)).mean
    differences = []
    for own, own_states in zip(brought, states, strict=True):
        row = []
        for turn, value in enumerate(own):
            total, count = totals[own_states[turn]] if turn in own_states else (value, 1)
            row.append(value - ((total - value) / (count - 1) if count > 1 else usual))
        differences.append(row)
    scale = moments(gather(list(chain.from_iterable(differences)))).deviation + BATCH_EPSILON
    return Credit([[value / scale for value in row] for row in differences], brought)


def _brought(rewards: Sequence[Sequence[float]], states: Sequence[Mapping[int, int]], discount: float) -> Turns:
    """The reward of each turn and the discounted value of what came next: of a forked state the mean of all episodes
    that continued from it."""
    found = [[0.0] * len(turns) for turns in rewards]
    places: dict[int, list[tuple[int, int]]] = {}
    for episode, own_states in enumerate(states):
        for turn, state in own_states.items():
            places.setdefault(state, []).append((episode, turn))
    # the values of states after the first turn need the continuations from there, which begin with that state
    for episode in sorted(range(len(rewards)), key=lambda episode: max(states[episode], default=0)):
        later = 0.0
        for turn in reversed(range(len(rewards[episode]))):
            found[episode][turn] = later = rewards[episode][turn] + discount * later
            if turn in states[episode]:
                values = [found[other][place] for other, place in places[states[episode][turn]]]
                later = math.fsum(values) / len(values)
    return found


def action_rewards(
    rewards: Sequence[Sequence[float]], unit: CreditUnit, lengths: Sequence[Sequence[int]] = ()
) -> Turns:
    """The reward of each action: a turn's comes with the last token of its response, and an episode's is their sum.

    Args:
        rewards: the reward of each turn of each episode.
        lengths: the number of tokens of each response, if the unit is a token.

    Raises:
        InvalidArgument: if the unit is a token, and not every turn has a response of one token or more.
    """
    if unit == "episode":
        return [[math.fsum(turns)] for turns in rewards]
    if unit == "turn":
        return [list(turns) for turns in rewards]
    if [len(turns) for turns in lengths] != [len(turns) for turns in rewards] or min(chain(*lengths), default=1) < 1:
        raise InvalidArgument("Credit for tokens needs the number of tokens of every turn's response.")
    return [
        [number for reward, length in zip(turns, counts, strict=True) for number in (*[0.0] * (length - 1), reward)]
        for turns, counts in zip(rewards, lengths, strict=True)
    ]


def by_turn(numbers: Turns, lengths: Sequence[Sequence[int]], unit: CreditUnit) -> list[Turns]:
    """For each episode and turn, the numbers of the actions that begin in this turn.

    That is one number for each token of its response, one number, or, if an episode is one action, one number in the
    first turn and none in the others.

    Args:
        numbers: one for each action of each episode.
        lengths: the number of tokens of each response.
    """
    found = []
    for own, counts in zip(numbers, lengths, strict=True):
        sizes = {"token": counts, "turn": [1] * len(counts), "episode": [1, *[0] * (len(counts) - 1)]}[unit]
        ends = list(accumulate(sizes))
        found.append([list(own[end - size : end]) for size, end in zip(sizes, ends, strict=True)])
    return found


def by_token(numbers: Turns, lengths: Sequence[Sequence[int]], unit: CreditUnit) -> list[Turns]:
    """For each episode and turn, the number of the action that each token of the response belongs to.

    The arguments are those of `by_turn`.
    """
    found = by_turn(numbers, lengths, unit)
    if unit == "token":
        return found
    return [
        [(turns[0] if unit == "episode" else turn) * length for turn, length in zip(turns, counts, strict=True)]
        for turns, counts in zip(found, lengths, strict=True)
    ]


def returns_to_go(rewards: Sequence[float], discount: float) -> list[float]:
    """Compute the return from each turn on: G_t = r_t + discount * G_(t+1), with G = 0 after the last turn.

    Source: Sutton and Barto, Reinforcement Learning (2018), section 3.3; over turns as in GEM (arXiv 2510.01051).
    """
    to_go, later = [], 0.0
    for reward in reversed(rewards):
        later = reward + discount * later
        to_go.append(later)
    to_go.reverse()
    return to_go


def normalize(turns: Sequence[Sequence[float]], gather: Gather = list) -> Turns:
    """Apply return batch normalization (ReBN): A = (G - mean) / (deviation + 1e-9), over all turns of the batch.

    The deviation is the population standard deviation over the whole batch, not over a minibatch. With `gather` it is
    the batch of all processes.

    Source: GEM (arXiv 2510.01051), section 3.
    """
    mean, deviation = moments(gather(list(chain.from_iterable(turns))))
    if not deviation:
        return [[0.0] * len(episode) for episode in turns]
    scale = deviation + BATCH_EPSILON
    return [[(value - mean) / scale for value in episode] for episode in turns]


def group_relative(totals: Sequence[float], groups: Sequence[int], *, scale: bool = True) -> list[float]:
    """Compute the advantage of each episode within its group: A = (R - mean) / (deviation + 1e-6).

    In a group whose episodes have equal returns, all advantages are 0. Without `scale` the advantage is R - mean.

    Source: GRPO (Shao et al., DeepSeekMath, arXiv 2402.03300), with outcome rewards; without `scale`, Dr. GRPO (Liu et
    al., arXiv 2503.20783).
    """
    returns_by_group: dict[int, list[float]] = {}
    for total, group in zip(totals, groups, strict=True):
        returns_by_group.setdefault(group, []).append(total)
    group_moments = {group: moments(returns) for group, returns in returns_by_group.items()}
    relative = []
    for total, group in zip(totals, groups, strict=True):
        mean, deviation = group_moments[group]
        difference = total - mean if deviation else 0.0
        relative.append(difference / (deviation + GROUP_EPSILON) if scale else difference)
    return relative


def gae(rewards: Sequence[float], values: Sequence[float], discount: float, gae_lambda: float) -> list[float]:
    """Compute the generalized advantage estimate of each turn of an episode.

    delta_t = r_t + discount * V_(t+1) - V_t and A_t = delta_t + discount * lambda * A_(t+1). After the last turn V and
    A are 0, whether the problem or the turn limit ended the episode.

    Source: Schulman et al., arXiv 1506.02438, equations 11 and 16.
    """
    advantages, later, next_value = [], 0.0, 0.0
    for reward, value in zip(reversed(rewards), reversed(values), strict=True):
        later = reward + discount * next_value - value + discount * gae_lambda * later
        next_value = value
        advantages.append(later)
    advantages.reverse()
    return advantages


def moments(numbers: Iterable[float]) -> Moments:
    """Compute the mean and the population standard deviation, independently of the order; without numbers, 0 and 0.

    The deviation of equal numbers (`are_equal`) is exactly 0, so that equal returns teach nothing.
    """
    values = list(numbers)
    if not values:
        return Moments(0.0, 0.0)
    mean = math.fsum(values) / len(values)
    if are_equal(values):
        return Moments(values[0] if min(values) == max(values) else mean, 0.0)
    return Moments(mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values)))


def are_equal(numbers: Collection[float]) -> bool:
    """Whether all of at least one number are equal, but for rounding errors of sums (`SAME`)."""
    low, high = min(numbers), max(numbers)
    return high - low <= SAME * max(1.0, abs(low), abs(high))
