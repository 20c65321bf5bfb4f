"""The arithmetic of credit, against numbers worked out by hand."""

import math
import random
import subprocess
import sys

import pytest

from gem.credit import (
    action_rewards,
    by_token,
    by_turn,
    compute_advantages,
    gae,
    group_relative,
    moments,
    normalize,
    returns_to_go,
)
from gem.errors import InvalidArgument


def test_returns_to_go_discount_what_comes_later() -> None:
    assert returns_to_go([1, 0, 2], 0.5) == [1.5, 1.0, 2.0]
    assert returns_to_go([1, 0, 2], 1.0) == [3.0, 2.0, 2.0]
    assert returns_to_go([1, 0, 2], 0.0) == [1.0, 0.0, 2.0]
    assert returns_to_go([], 0.9) == []


def test_reinforce_credits_each_turn_with_its_return_to_go() -> None:
    credit = compute_advantages("reinforce", [[0, 1], [-1.0]], discount=0.9)
    assert credit.advantages == [[0.9, 1.0], [-1.0]]
    assert credit.targets == credit.advantages


def test_rebn_normalizes_over_all_turns_of_the_batch_with_the_population_deviation() -> None:
    # Returns to go: 3, 1 and 2, -2. Mean 1; squares of the differences 4, 0, 1, 9; deviation sqrt(14 / 4).
    credit = compute_advantages("rebn", [[2, 1], [4, -2]], discount=1.0)
    deviation = math.sqrt(3.5)
    assert credit.targets == [[3, 1], [2, -2]]
    assert credit.advantages[0] == pytest.approx([2 / deviation, 0.0])
    assert credit.advantages[1] == pytest.approx([1 / deviation, -3 / deviation])


def test_rebn_of_equal_returns_teaches_nothing() -> None:
    assert normalize([[0.1, 0.1], [0.1]]) == [[0.0, 0.0], [0.0]]


def test_returns_that_only_rounding_tells_apart_teach_nothing() -> None:
    """A word of three letters is revealed at once, or one letter and then two: the returns differ in the last digit."""
    at_once, in_two = [3 / 3 * 0.5 + 0.5], [1 / 3 * 0.5, 2 / 3 * 0.5 + 0.5]
    assert math.fsum(at_once) != math.fsum(in_two)
    for scale_groups in (True, False):
        credit = compute_advantages("grpo", [at_once, in_two], groups=[0, 0], scale_groups=scale_groups)
        assert credit.advantages == [[0.0], [0.0, 0.0]]
    assert normalize([[1.0], [math.fsum(in_two)]]) == [[0.0], [0.0]]


def test_rebn_over_several_processes_is_that_of_all_turns_together() -> None:
    mine, theirs = [[2.0, 1.0]], [[4.0, -2.0], [0.5]]
    together = normalize(mine + theirs)
    assert normalize(mine, lambda numbers: [4.0, -2.0, 0.5, *numbers]) == together[:1]


def test_grpo_compares_the_episodes_of_a_group_and_gives_every_turn_the_same() -> None:
    # Group 0 has the returns 1 and 3: mean 2, deviation 1. Group 1 has 5 and 5.
    credit = compute_advantages("grpo", [[0, 1], [5], [3], [2, 3]], groups=[0, 1, 0, 1], discount=0.1)
    one = 1 / (1 + 1e-6)
    assert credit.advantages == [[-one, -one], [0.0], [one], [0.0, 0.0]]


def test_grpo_without_scale_keeps_the_difference_from_the_mean() -> None:
    assert group_relative([1, 3, 10, 20], [0, 0, 7, 7], scale=False) == [-1, 1, -5, 5]


def test_the_generalized_advantage_estimate_by_hand() -> None:
    # delta_1 = 2 + 0 - 4 = -2; delta_0 = 1 + 0.5 * 4 - 3 = 0; A_0 = 0 + 0.5 * 0.5 * -2.
    assert gae([1, 2], [3, 4], discount=0.5, gae_lambda=0.5) == [-0.5, -2.0]


def test_the_estimate_with_trace_1_is_the_return_minus_the_value_and_with_0_one_difference() -> None:
    rewards, values = [0.5, 0.0, 1.0], [0.2, 0.7, 0.1]
    to_go = returns_to_go(rewards, 0.9)
    assert gae(rewards, values, 0.9, 1.0) == pytest.approx([g - v for g, v in zip(to_go, values, strict=True)])
    assert gae(rewards, values, 0.9, 0.0) == pytest.approx([0.5 + 0.9 * 0.7 - 0.2, 0.0 + 0.9 * 0.1 - 0.7, 1.0 - 0.1])


def test_ppo_normalizes_advantages_and_its_targets_are_advantage_plus_value() -> None:
    credit = compute_advantages("ppo", [[1, 2], [0.0]], discount=0.5, gae_lambda=0.5, values=[[3, 4], [1]])
    # Raw advantages -0.5, -2 and -1: mean -7/6.
    assert credit.targets == [[2.5, 2.0], [0.0]]
    mean = -7 / 6
    deviation = math.sqrt(((-0.5 - mean) ** 2 + (-2 - mean) ** 2 + (-1 - mean) ** 2) / 3)
    assert credit.advantages[0] == pytest.approx([(-0.5 - mean) / deviation, (-2 - mean) / deviation])
    assert credit.advantages[1] == pytest.approx([(-1 - mean) / deviation])


def test_a_batch_is_credited_the_same_in_whatever_order_its_episodes_come() -> None:
    draw = random.Random(3)
    rewards = [[draw.uniform(-1, 1) for _ in range(draw.randint(1, 6))] for _ in range(50)]
    order = list(range(50))
    draw.shuffle(order)
    straight = compute_advantages("rebn", rewards, discount=0.9).advantages
    shuffled = compute_advantages("rebn", [rewards[i] for i in order], discount=0.9).advantages
    assert [straight[i] for i in order] == shuffled


def test_moments_are_those_of_the_population() -> None:
    assert moments([1, 2, 3, 4]) == (2.5, math.sqrt(1.25))
    assert moments([]) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("algorithm", "given", "said"),
    [
        ("grpo", {"groups": [1]}, "GRPO needs the group of each of 2 episodes, not 1."),
        ("ppo", {"values": [[1.0], [1.0]]}, "PPO needs the critic's value of every turn."),
        ("a2c", {}, "There is no algorithm 'a2c'"),
    ],
)
def test_it_says_what_is_missing(algorithm: str, given: dict[str, list[int]], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said.replace("(", r"\(")):
        compute_advantages(algorithm, [[0.0, 1.0], [0.5]], **given)  # type: ignore[arg-type]


def test_it_needs_no_torch() -> None:
    probe = "import sys, gem.credit; print('torch' in sys.modules or 'numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


LENGTHS = [[2, 1], [3]]
"""Tokens of the responses of two episodes: one of two turns, one of one."""
REWARDS = [[0.0, 1.0], [0.5]]


def test_the_reward_of_a_turn_comes_with_its_last_token_and_that_of_an_episode_is_the_sum() -> None:
    assert action_rewards(REWARDS, "token", LENGTHS) == [[0.0, 0.0, 1.0], [0.0, 0.0, 0.5]]
    assert action_rewards(REWARDS, "turn", LENGTHS) == REWARDS
    assert action_rewards(REWARDS, "episode") == [[1.0], [0.5]]


def test_the_discount_acts_from_token_to_token_from_turn_to_turn_or_not_at_all() -> None:
    def returns(unit: str) -> list[list[float]]:
        return compute_advantages("reinforce", REWARDS, discount=0.5, unit=unit, lengths=LENGTHS).advantages  # type: ignore[arg-type]

    assert returns("token") == [[0.25, 0.5, 1.0], [0.125, 0.25, 0.5]]
    assert returns("turn") == [[0.5, 1.0], [0.5]]
    assert returns("episode") == [[1.0], [0.5]]


def test_rebn_normalizes_over_all_tokens_or_over_all_episodes() -> None:
    # Without a discount the tokens of the first episode have the return 1 and those of the second 0.5: mean 0.75,
    # deviation 0.25. Over turns, mean and deviation would be those of 1, 1 and 0.5.
    tokens = compute_advantages("rebn", REWARDS, unit="token", lengths=LENGTHS).advantages
    assert tokens == [pytest.approx([1.0, 1.0, 1.0]), pytest.approx([-1.0, -1.0, -1.0])]
    episodes = compute_advantages("rebn", REWARDS, unit="episode", discount=0.1).advantages
    assert episodes == [pytest.approx([1.0]), pytest.approx([-1.0])]
    turns = compute_advantages("rebn", REWARDS).advantages
    assert turns[0] == pytest.approx([math.sqrt(0.5), math.sqrt(0.5)])
    assert turns[1] == pytest.approx([-math.sqrt(2)])


def test_ppo_estimates_before_every_token_or_once_an_episode() -> None:
    # delta of the last token: 1 - 0.5 = 0.5; of the one before: 0.5 * 0.5 - 0.4 = -0.15, and so on from the end.
    credit = compute_advantages(
        "ppo", [[0.0, 1.0]], discount=0.5, gae_lambda=0.5, values=[[0.2, 0.4, 0.5]], unit="token", lengths=[[2, 1]]
    )
    raw = [0.5 * 0.4 - 0.2 + 0.25 * (-0.15 + 0.25 * 0.5), -0.15 + 0.25 * 0.5, 0.5]
    assert credit.targets[0] == pytest.approx([a + v for a, v in zip(raw, [0.2, 0.4, 0.5], strict=True)])
    whole = compute_advantages("ppo", REWARDS, discount=0.5, values=[[0.25], [0.5]], unit="episode")
    assert whole.targets == [[1.0], [0.5]]
    assert whole.advantages == [pytest.approx([1.0]), pytest.approx([-1.0])]  # of 0.75 and 0


@pytest.mark.parametrize("unit", ["token", "turn", "episode"])
def test_grpo_gives_every_action_of_an_episode_the_same_whatever_an_action_is(unit: str) -> None:
    rewards, lengths = [[0.0, 1.0], [0.0]], [[2, 1], [3]]
    credit = compute_advantages("grpo", rewards, groups=[0, 0], unit=unit, lengths=lengths)  # type: ignore[arg-type]
    spread = by_token(credit.advantages, lengths, unit)  # type: ignore[arg-type]
    one = 0.5 / (0.5 + 1e-6)
    assert spread == [[[one, one], [one]], [[-one, -one, -one]]]


def test_numbers_of_actions_are_found_by_turn_and_by_token() -> None:
    tokens, turns, episodes = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], [[1.0, 2.0], [3.0]], [[1.0], [2.0]]
    assert by_turn(tokens, LENGTHS, "token") == [[[1.0, 2.0], [3.0]], [[4.0, 5.0, 6.0]]]
    assert by_token(tokens, LENGTHS, "token") == by_turn(tokens, LENGTHS, "token")
    assert by_turn(turns, LENGTHS, "turn") == [[[1.0], [2.0]], [[3.0]]]
    assert by_token(turns, LENGTHS, "turn") == [[[1.0, 1.0], [2.0]], [[3.0, 3.0, 3.0]]]
    assert by_turn(episodes, LENGTHS, "episode") == [[[1.0], []], [[2.0]]]
    assert by_token(episodes, LENGTHS, "episode") == [[[1.0, 1.0], [1.0]], [[2.0, 2.0, 2.0]]]


@pytest.mark.parametrize("lengths", [[], [[2, 1]], [[2], [3]], [[2, 0], [3]]])
def test_credit_for_tokens_needs_the_length_of_every_response(lengths: list[list[int]]) -> None:
    with pytest.raises(InvalidArgument, match="needs the number of tokens of every turn's response"):
        compute_advantages("rebn", REWARDS, unit="token", lengths=lengths)
