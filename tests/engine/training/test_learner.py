"""The loss, against numbers worked out by hand and against numerical derivatives."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from gem.credit import Credit, CreditUnit
from gem.records import EpisodeRecord
from gem.training.collecting.batch import PlayedEpisode
from gem.training.learner import (
    Learner,
    NonFiniteGradient,
    TrainingExample,
    ValueTarget,
    entropy_bonus,
    learning_rate,
    training_examples,
)
from gem.training.policy.contexts import ResponseSpan, TokenSequence
from gem.training.policy.policies import Policy
from gem.training.policy.prompts import load_prompt_format
from gem.training.processes import Processes
from gem.training.spec import TrainingSpec, read_spec
from tests.engine.training.conftest import BANDIT

SYMBOLS = 4


class Table(Policy):
    """The next token depends on the present one alone: a table of logits, in double precision."""

    def __init__(self, tiny: Any, *, critic: bool = False) -> None:
        super().__init__(load_prompt_format(tiny))
        self.table = nn.Parameter(torch.randn(SYMBOLS, SYMBOLS, generator=torch.Generator().manual_seed(0)).double())
        if critic:
            self.add_critic(SYMBOLS)
            self.value_head.double()  # type: ignore[union-attr]

    def hidden(self, ids_BT: Tensor) -> Tensor:
        return nn.functional.one_hot(ids_BT, SYMBOLS).double()

    def logits(self, hidden: Tensor) -> Tensor:
        return hidden @ self.table

    @property
    def vocab_size(self) -> int:
        return SYMBOLS

    def values(self, hidden: Tensor) -> Tensor:
        assert self.value_head is not None
        return self.value_head(hidden).squeeze(-1)

    def save(self, folder: Path) -> None:
        save_file({"table": self.table.detach()}, folder / "table.safetensors")

    def load_weights(self, folder: Path) -> None:
        with torch.no_grad():
            self.table.copy_(load_file(folder / "table.safetensors")["table"])


def spec_of(tiny: Any, **settings: Any) -> TrainingSpec:
    return read_spec({"env_id": BANDIT, "model": str(tiny), "gradient_clip": 0, "warmup": 0, "epochs": 1, **settings})


def logps(policy: Table, tokens: Sequence[int], start: int, length: int) -> list[float]:
    rows = torch.log_softmax(policy.table.detach().double(), -1)
    return [float(rows[tokens[i - 1], tokens[i]]) for i in range(start, start + length)]


def make_example(policy: Table, advantages: Sequence[float], targets: Sequence[float] = (0.0, 0.0)) -> TrainingExample:
    """Two turns: tokens 1 and 2 after 0, and token 3 after 1."""
    tokens = [0, 1, 2, 0, 1, 3]
    responses = [ResponseSpan(1, 2, 0), ResponseSpan(5, 1, 1)]
    old = logps(policy, tokens, 1, 2) + logps(policy, tokens, 5, 1)
    first, second = advantages
    places = [ValueTarget(0, 0.0, targets[0]), ValueTarget(4, 0.0, targets[1])]
    return TrainingExample(TokenSequence(tokens, responses, old), [first, first, second], places)


def credited(unit: CreditUnit, advantages: list[float], targets: list[float]) -> TrainingExample:
    """The same two turns as an episode of a batch, with the credit of its actions."""
    responses = [ResponseSpan(1, 2, 0, [0.1, 0.2]), ResponseSpan(5, 1, 1, [0.3])]
    sequence = TokenSequence([0, 1, 2, 0, 1, 3], responses, [-1.0, -1.0, -1.0])
    episode = PlayedEpisode(cast("EpisodeRecord", None), [sequence], group=0)
    (example,) = training_examples([episode], Credit([advantages], [targets]), unit, has_critic=True)
    return example


def test_each_token_has_the_advantage_of_its_action_and_the_critic_a_target_for_each_action() -> None:
    token = credited("token", [1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    assert token.advantages == [1.0, 2.0, 3.0]
    assert token.value_targets == [(0, 0.1, 4.0), (1, 0.2, 5.0), (4, 0.3, 6.0)]
    turn = credited("turn", [1.0, 2.0], [4.0, 5.0])
    assert turn.advantages == [1.0, 1.0, 2.0]
    assert turn.value_targets == [(0, 0.1, 4.0), (4, 0.3, 5.0)]
    episode = credited("episode", [1.0], [4.0])
    assert episode.advantages == [1.0, 1.0, 1.0]
    assert episode.value_targets == [(0, 0.1, 4.0)]


def test_tokens_of_one_response_may_have_advantages_of_their_own(tiny: Any) -> None:
    policy = Table(tiny)
    example = make_example(policy, [0.0, 0.0])
    example.advantages = [2.0, 0.0, -1.0]
    table = policy.table.detach().clone().requires_grad_()
    rows = torch.log_softmax(table, -1)
    (-(2.0 * rows[0, 1] - 1.0 * rows[1, 3]) / 2).backward()
    assert torch.allclose(gradient(Learner(spec_of(tiny), policy, Processes()), [example]), table.grad, atol=1e-6)


def test_the_critics_loss_is_a_mean_over_actions(tiny: Any) -> None:
    policy = Table(tiny, critic=True)
    example = make_example(policy, [0.0, 0.0])
    example.value_targets = [ValueTarget(0, 0.0, 1.0), ValueTarget(1, 0.0, 2.0), ValueTarget(4, 0.0, 3.0)]
    other = make_example(policy, [0.0, 0.0])
    other.value_targets = []
    spec = spec_of(tiny, algorithm="ppo", value_clip=0)
    stats = Learner(spec, policy, Processes()).learn([example, other], 0)
    assert stats.value_loss == pytest.approx(0.5 * (1 + 4 + 9) / 3)


def gradient(learner: Learner, examples: list[TrainingExample]) -> Tensor:
    learner.learn(examples, 0)
    table = learner.parameters["table"]
    assert table.grad is not None
    return table.grad


def test_the_first_step_follows_the_gradient_of_reinforce(tiny: Any) -> None:
    policy = Table(tiny)
    batch = [make_example(policy, [2.0, -1.0])]
    table = policy.table.detach().clone().requires_grad_()
    rows = torch.log_softmax(table, -1)
    (-(2.0 * (rows[0, 1] + rows[1, 2]) - 1.0 * rows[1, 3]) / 2).backward()
    found = gradient(Learner(spec_of(tiny), policy, Processes()), batch)
    assert torch.allclose(found, table.grad, atol=1e-6)


@pytest.mark.parametrize("settings", [{}, {"entropy_bonus": 0.3}, {"temperature": 2.0}, {"kl_coefficient": 0.5}])
def test_gradients_are_numerical_derivatives(tiny: Any, settings: dict[str, Any]) -> None:
    policy = Table(tiny)
    batch = [make_example(policy, [2.0, -1.0]), make_example(policy, [0.5, 0.25])]
    reference = Table(tiny)
    with torch.no_grad():
        reference.table.add_(0.3 * torch.arange(16).view(4, 4) % 3)
        policy.table.add_(0.05)
        policy.table[1, 2] += 0.1  # away from where the old responses were drawn, inside the clip range
    spec = spec_of(tiny, learning_rate=1e-12, **settings)
    learner = Learner(spec, policy, Processes(), reference)
    found = gradient(learner, batch).clone()
    small = 1e-2  # the learner computes with 24 bits

    def loss() -> float:
        from gem.training.learner import _UpdateTotals

        with torch.no_grad():
            return float(learner._loss(batch, 4.0, _UpdateTotals()))

    for row, column in ((0, 1), (1, 2), (1, 3), (2, 0)):
        with torch.no_grad():
            policy.table[row, column] += small
            above = loss()
            policy.table[row, column] -= 2 * small
            below = loss()
            policy.table[row, column] += small
        assert float(found[row, column]) == pytest.approx((above - below) / (2 * small), abs=1e-3)


def test_a_ratio_beyond_the_clip_range_teaches_nothing_more(tiny: Any) -> None:
    policy = Table(tiny)
    example = make_example(policy, [1.0, 0.0])
    example.sequence.logps = [logp - math.log(2) for logp in example.sequence.logps]  # every ratio is 2
    learner = Learner(spec_of(tiny, clip_range=0.2), policy, Processes())
    stats = learner.learn([example], 0)
    assert float(learner.parameters["table"].grad.abs().max()) == 0.0  # type: ignore[union-attr]
    assert stats.clip_fraction == 1.0
    assert stats.kl == pytest.approx(2 - 1 - math.log(2), rel=1e-5)
    assert stats.policy_loss == pytest.approx(-2 * 1.2 / 2, rel=1e-5)


def test_a_bad_action_is_still_unlearned_when_its_ratio_is_high(tiny: Any) -> None:
    policy = Table(tiny)
    example = make_example(policy, [-1.0, 0.0])
    example.sequence.logps = [logp - math.log(2) for logp in example.sequence.logps]
    stats = Learner(spec_of(tiny), policy, Processes()).learn([example], 0)
    assert stats.gradient_norm > 0.1
    assert stats.policy_loss == pytest.approx(2 * 2 / 2, rel=1e-5)


@pytest.mark.parametrize(("ratio", "high", "moved"), [(1.25, 0.0, False), (1.25, 0.3, True), (1.35, 0.3, False)])
def test_a_good_action_may_move_as_far_upwards_as_it_is_told(tiny: Any, ratio: float, high: float, moved: bool) -> None:
    policy = Table(tiny)
    example = make_example(policy, [1.0, 0.0])
    example.sequence.logps = [logp - math.log(ratio) for logp in example.sequence.logps]
    stats = Learner(spec_of(tiny, clip_range=0.2, clip_range_high=high), policy, Processes()).learn([example], 0)
    assert (stats.gradient_norm > 0) == moved
    # Two tokens of the turn that earned 1, over two turns; the loss is that of the ratio, cut where it is too high.
    assert stats.policy_loss == pytest.approx(-2 * min(ratio, 1 + (high or 0.2)) / 2, rel=1e-5)
    assert stats.clip_fraction == (0.0 if moved else 1.0)


def test_a_bad_action_may_move_as_far_downwards_as_before(tiny: Any) -> None:
    policy = Table(tiny)
    example = make_example(policy, [-1.0, 0.0])
    example.sequence.logps = [logp - math.log(0.75) for logp in example.sequence.logps]
    stats = Learner(spec_of(tiny, clip_range=0.2, clip_range_high=0.5), policy, Processes()).learn([example], 0)
    assert stats.gradient_norm == 0.0
    assert stats.clip_fraction == 1.0


def test_an_update_ends_before_a_step_that_begins_too_far_away(tiny: Any) -> None:
    def steps(target: float, ratio: float = 1.0) -> float:
        policy = Table(tiny)
        example = make_example(policy, [1.0, -1.0])
        example.sequence.logps = [logp - math.log(ratio) for logp in example.sequence.logps]
        before = policy.table.detach().clone()
        spec = spec_of(tiny, target_kl=target, epochs=4, learning_rate=0.1, clip_range=10)
        stats = Learner(spec, policy, Processes()).learn([example], 0)
        assert torch.equal(policy.table.detach(), before) == (stats.steps == 0)
        return stats.steps

    assert steps(0.0) == 4
    assert steps(1e-9) == 1  # nothing is too far before the first one
    away = 1.5 - 1 - math.log(1.5)  # estimator k3 of each token
    assert steps(0.99 * away, ratio=1.5) == 0
    assert steps(100.0, ratio=1.5) == 4


def test_turns_that_teach_nothing_are_counted(tiny: Any) -> None:
    policy = Table(tiny)
    batch = [make_example(policy, [0.0, 0.0]), make_example(policy, [0.0, 2.0])]
    assert Learner(spec_of(tiny, epochs=2), policy, Processes()).learn(batch, 0).zero_advantage_share == 0.75


def test_the_entropy_is_that_of_the_distribution(tiny: Any) -> None:
    policy = Table(tiny)
    with torch.no_grad():
        policy.table.zero_()
    stats = Learner(spec_of(tiny), policy, Processes()).learn([make_example(policy, [0.0, 0.0])], 0)
    assert stats.entropy == pytest.approx(math.log(SYMBOLS))
    assert stats.gradient_norm == 0.0


def test_the_critic_moves_towards_its_targets_within_its_clip(tiny: Any) -> None:
    policy = Table(tiny, critic=True)
    example = make_example(policy, [0.0, 0.0], targets=[1.0, 3.0])
    free = Learner(spec_of(tiny, algorithm="ppo", value_clip=0), policy, Processes()).learn([example], 0)
    assert free.value_loss == pytest.approx(0.5 * (1 + 9) / 2)
    policy = Table(tiny, critic=True)
    with torch.no_grad():
        policy.value_head.bias.fill_(0.5)  # type: ignore[union-attr]
    stats = Learner(spec_of(tiny, algorithm="ppo", value_clip=0.2), policy, Processes()).learn([example], 0)
    assert stats.value_loss == pytest.approx(0.5 * (0.8**2 + 2.8**2) / 2)  # it said 0 before: 0.2 counts, not 0.5


def test_the_critic_may_have_a_learning_rate_of_its_own(tiny: Any) -> None:
    def moved(**settings: Any) -> tuple[float, float]:
        policy = Table(tiny, critic=True)
        head, table = policy.value_head, policy.table.detach().clone()
        spec = spec_of(tiny, algorithm="ppo", learning_rate=1e-3, schedule="linear", updates=2, **settings)
        Learner(spec, policy, Processes()).learn([make_example(policy, [1.0, -1.0], targets=[1.0, 3.0])], 1)
        return float((policy.table.detach() - table).abs().max()), float(head.bias.detach().abs())  # type: ignore[union-attr]

    # Adam's first step is as long as the learning rate, which has fallen to half here.
    assert moved() == pytest.approx((5e-4, 5e-4), rel=1e-3)
    assert moved(critic_learning_rate=0.02) == pytest.approx((5e-4, 0.01), rel=1e-3)


def test_gradients_are_clipped_to_their_longest(tiny: Any) -> None:
    policy = Table(tiny)
    learner = Learner(spec_of(tiny, gradient_clip=0.01), policy, Processes())
    stats = learner.learn([make_example(policy, [5.0, -5.0])], 0)
    assert stats.gradient_norm > 0.5
    assert float(learner.parameters["table"].grad.norm()) == pytest.approx(0.01, rel=1e-3)  # type: ignore[union-attr]


def test_microbatches_change_nothing(tiny: Any) -> None:
    example, other = Table(tiny), Table(tiny)
    batch = [make_example(example, [2.0, -1.0]), make_example(example, [0.5, 3.0]), make_example(example, [-0.5, 0.1])]
    whole = gradient(Learner(spec_of(tiny), example, Processes()), batch)
    parts = gradient(Learner(spec_of(tiny, microbatch_tokens=32), other, Processes()), batch * 8)
    assert torch.allclose(whole, parts, atol=1e-7)


@pytest.mark.parametrize("settings", [{}, {"entropy_bonus": 0.3, "kl_coefficient": 0.5}])
def test_logits_in_pieces_change_nothing(tiny: Any, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for max_logits in (2**28, 2 * SYMBOLS):
        monkeypatch.setattr("gem.training.learner.MAX_LOGITS", max_logits)
        policy, reference = Table(tiny), Table(tiny)
        most: list[int] = []
        logits = policy.logits
        monkeypatch.setattr(
            policy, "logits", lambda hidden, logits=logits, most=most: most.append(len(hidden)) or logits(hidden)
        )
        batch = [make_example(policy, [2.0, -1.0]), make_example(policy, [0.5, 0.25])]
        learner = Learner(spec_of(tiny, **settings), policy, Processes(), reference)
        found.append(gradient(learner, batch).clone())
        assert max(most) == min(6, max_logits // SYMBOLS)
    assert torch.allclose(*found, atol=1e-9)


def test_no_step_is_taken_with_a_gradient_that_is_no_number(tiny: Any) -> None:
    policy = Table(tiny)
    before = policy.table.detach().clone()
    with pytest.raises(NonFiniteGradient, match="The gradient is nan"):
        Learner(spec_of(tiny), policy, Processes()).learn([make_example(policy, [math.nan, 1.0])], 0)
    assert torch.equal(policy.table.detach(), before)


def test_learning_rates_rise_and_fall_as_the_schedule_says(tiny: Any) -> None:
    def rates(**settings: Any) -> list[float]:
        spec = spec_of(tiny, **{"updates": 4, "learning_rate": 1.0, **settings})
        return [learning_rate(spec, update) for update in range(4)]

    assert rates() == [1, 1, 1, 1]
    assert rates(warmup=2) == [0.5, 1, 1, 1]
    assert rates(schedule="linear") == [1, 0.75, 0.5, 0.25]
    assert rates(schedule="cosine") == pytest.approx([1, 0.5 + 0.5**1.5, 0.5, 0.5 - 0.5**1.5])


def test_the_entropy_bonus_falls_as_its_own_schedule_says(tiny: Any) -> None:
    def bonuses(**settings: Any) -> list[float]:
        spec = spec_of(tiny, **{"updates": 4, "entropy_bonus": 0.2, "warmup": 2, **settings})
        return [entropy_bonus(spec, update) for update in range(4)]

    assert bonuses(schedule="linear") == [0.2, 0.2, 0.2, 0.2]
    assert bonuses(entropy_schedule="linear") == pytest.approx([0.2, 0.15, 0.1, 0.05])


def test_a_bonus_that_has_fallen_to_half_pulls_half_as_hard(tiny: Any) -> None:
    def pull(update: int) -> Tensor:
        policy = Table(tiny)
        spec = spec_of(tiny, updates=2, entropy_bonus=0.3, entropy_schedule="linear")
        learner = Learner(spec, policy, Processes())
        learner.learn([make_example(policy, [0.0, 0.0])], update)
        assert policy.table.grad is not None
        return policy.table.grad

    assert float(pull(0).abs().max()) > 0
    assert torch.allclose(pull(1), pull(0) / 2)
