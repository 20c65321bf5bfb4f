"""Who earned the reward: returns and advantages of turns, by algorithm. Pure functions of plain numbers, without torch.

An action is the whole response of a turn, so everything here is one number for each turn; the learner gives all tokens
of a response the advantage of their turn. Each function takes lists of turns, in order; `Turns` is one list for each
episode of a batch.

    credit = compute_advantages("rebn", [[0, 0, 1], [0, -0.1]], discount=0.9)
    credit.advantages            # shaped as the rewards
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Literal, NamedTuple

from gem.errors import InvalidArgument

Algorithm = Literal["reinforce", "rebn", "grpo", "ppo"]


class AlgorithmInfo(NamedTuple):
    """What the rest of the code has to know of an algorithm."""

    title: str
    """What it is called in tables and figures."""
    description: str
    """What it is called where it is chosen."""
    has_critic: bool = False
    """It needs the value of every turn, which a critic estimates."""
    has_groups: bool = False
    """It compares episodes of one seed."""
    discounts: bool = True
    """Its credit depends on the discount."""


ALGORITHMS: Mapping[Algorithm, AlgorithmInfo] = {
    "reinforce": AlgorithmInfo("REINFORCE", "REINFORCE"),
    "rebn": AlgorithmInfo("ReBN", "REINFORCE with ReBN"),
    "grpo": AlgorithmInfo("GRPO", "GRPO", has_groups=True, discounts=False),
    "ppo": AlgorithmInfo("PPO", "PPO", has_critic=True),
}
"""Every algorithm, in the order in which they are listed. `compute_advantages` says what each of them computes."""

Turns = list[list[float]]
"""One number for each turn of each episode."""
Gather = Callable[[list[float]], list[float]]
"""Makes the numbers of one process those of all processes; the identity where there is only one."""

BATCH_EPSILON = 1e-9
"""Added to the standard deviation over a batch, as in GEM."""
GROUP_EPSILON = 1e-6
"""Added to the standard deviation within a group; two returns that differ at all differ by more."""


class Moments(NamedTuple):
    """Mean and population standard deviation of some numbers."""

    mean: float
    deviation: float


class Credit(NamedTuple):
    """What the turns of a batch are credited with."""

    advantages: Turns
    """What the learner multiplies the log-probability of a turn's response by."""
    targets: Turns
    """Returns to go; with PPO what the critic should have said."""


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
) -> Credit:
    """The credit of every turn of a batch of complete episodes.

    Args:
        rewards: of each turn of each episode.
        discount: gamma, of REINFORCE, ReBN and PPO; GRPO compares whole episodes and does not use it.
        gae_lambda: lambda of the generalized advantage estimate, with PPO.
        values: what the critic said before each turn, shaped as `rewards`, with PPO.
        groups: which group each episode belongs to (episodes of one seed), with GRPO.
        scale_groups: divide by the group's standard deviation, with GRPO.
        gather: where the batch is spread over processes, collects a statistic from all of them.

    Raises:
        InvalidArgument: if the algorithm is unknown, or lacks its values or groups.
    """
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
        return Credit([[one] * len(turns) for one, turns in zip(relative, rewards, strict=True)], to_go)
    if algorithm == "ppo":
        if [len(turns) for turns in values] != [len(turns) for turns in rewards]:
            raise InvalidArgument("PPO needs the critic's value of every turn.")
        raw = [gae(turns, baseline, discount, gae_lambda) for turns, baseline in zip(rewards, values, strict=True)]
        targets = [[a + v for a, v in zip(*pair, strict=True)] for pair in zip(raw, values, strict=True)]
        return Credit(normalize(raw, gather), targets)
    raise InvalidArgument(f"There is no algorithm {algorithm!r}; choose one of {', '.join(ALGORITHMS)}.")


def returns_to_go(rewards: Sequence[float], discount: float) -> list[float]:
    """What was earned from each turn on: G_t = r_t + discount * G_(t+1), and 0 after the last turn.

    Source: Sutton and Barto, Reinforcement Learning (2018), section 3.3; over turns as in GEM (arXiv 2510.01051).
    """
    to_go, later = [], 0.0
    for reward in reversed(rewards):
        later = reward + discount * later
        to_go.append(later)
    to_go.reverse()
    return to_go


def normalize(turns: Sequence[Sequence[float]], gather: Gather = list) -> Turns:
    """Return batch normalization (ReBN): A = (G - mean) / (deviation + 1e-9), over all turns of the batch.

    The deviation is the population's, and the batch is the whole one, before anything is drawn from it. With `gather`
    it is the batch of all processes.

    Source: GEM (arXiv 2510.01051), section 3.
    """
    mean, deviation = moments(gather(list(chain.from_iterable(turns))))
    scale = deviation + BATCH_EPSILON
    return [[(one - mean) / scale for one in episode] for episode in turns]


def group_relative(totals: Sequence[float], groups: Sequence[int], *, scale: bool = True) -> list[float]:
    """How much better an episode was than those of its group: A = (R - mean) / (deviation + 1e-6).

    A group whose episodes earned the same teaches nothing: its advantages are 0. Without `scale` the difference from
    the mean stays as it is.

    Source: GRPO (Shao et al., DeepSeekMath, arXiv 2402.03300), with outcome rewards; without `scale`, Dr. GRPO (Liu et
    al., arXiv 2503.20783).
    """
    members: dict[int, list[float]] = {}
    for total, group in zip(totals, groups, strict=True):
        members.setdefault(group, []).append(total)
    of_group = {group: moments(returns) for group, returns in members.items()}
    relative = []
    for total, group in zip(totals, groups, strict=True):
        mean, deviation = of_group[group]
        relative.append((total - mean) / (deviation + GROUP_EPSILON) if scale else total - mean)
    return relative


def gae(rewards: Sequence[float], values: Sequence[float], discount: float, gae_lambda: float) -> list[float]:
    """Generalized advantage estimate over turns.

    delta_t = r_t + discount * V_(t+1) - V_t and A_t = delta_t + discount * lambda * A_(t+1), with V and A of 0 after
    the last turn: the episode is complete, whether the problem or the turn limit ended it.

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
    """Mean and population standard deviation, the same in whatever order the numbers come; of none, 0 and 0."""
    listed = list(numbers)
    if not listed:
        return Moments(0.0, 0.0)
    mean = math.fsum(listed) / len(listed)
    if min(listed) == max(listed):
        return Moments(listed[0], 0.0)  # exactly, so that equal returns teach nothing
    return Moments(mean, math.sqrt(math.fsum((one - mean) ** 2 for one in listed) / len(listed)))
