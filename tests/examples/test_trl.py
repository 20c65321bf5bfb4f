"""TRL trains a tiny model on our environment, on the CPU, in both of its ways; the curve rises."""

import importlib
import math
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

for package in ("torch", "transformers", "trl", "datasets"):
    if find_spec(package) is None:  # importing them takes seconds, which only the process that tests them spends
        pytest.skip(f"{package} is not installed; examples/README.md says how to check it", allow_module_level=True)

EARLY = LATE = 5
"""Updates whose mean is compared."""


def curve(trainer: Any, name: str) -> list[float]:
    return [entry[name] for entry in trainer.state.log_history if name in entry]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


EXAMPLES = {"trl_rollout_func": "rewards/reward/mean", "trl_environment_factory": "rewards/Episode/mean"}
"""Each example and what TRL calls the environment's reward there."""


def train_tiny(example: str, monkeypatch: pytest.MonkeyPatch, folder: Path, **settings: Any) -> Any:
    """The example's trainer after some steps on one core."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    monkeypatch.setenv("TRL_EXPERIMENTAL_SILENCE", "1")
    module = importlib.import_module(f"examples.{example}")
    monkeypatch.setattr(module, "ENV_KWARGS", {})
    trainer = module.train_tiny(seed=0, output_dir=str(folder), disable_tqdm=True, **settings)
    torch.set_num_threads(threads)
    return trainer


@pytest.mark.long
@pytest.mark.parametrize("example", ["trl_rollout_func", "trl_environment_factory"])
def test_it_learns_from_the_rewards_of_the_environment(
    example: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from examples import tiny_model

    read_little = partial(tiny_model.make_tiny, steps=80)  # enough to know how an action is written
    monkeypatch.setattr(tiny_model, "make_tiny", read_little)
    trainer = train_tiny(example, monkeypatch, tmp_path, steps=2, per_device_train_batch_size=32)
    rewards, successes = curve(trainer, EXAMPLES[example]), curve(trainer, "rewards/success/mean")
    assert len(rewards) == len(successes) == 2
    assert max(successes) > 0, "some numbers are guessed"
    assert all(success - 0.1 < reward < 1 for reward, success in zip(rewards, successes, strict=True))
    assert len({*rewards, *successes}) > 2, "those that are not guessed earn a part, or cost something"
    assert all(0 < norm < math.inf for norm in curve(trainer, "grad_norm"))


@pytest.mark.long
@pytest.mark.parametrize(("example", "steps"), [("trl_rollout_func", 24), ("trl_environment_factory", 16)])
def test_the_curve_rises(example: str, steps: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trainer = train_tiny(example, monkeypatch, tmp_path, steps=steps)
    for name in (EXAMPLES[example], "rewards/success/mean"):
        values = curve(trainer, name)
        assert mean(values[-LATE:]) > mean(values[:EARLY]) + 0.1, (name, values)


def test_a_group_is_one_seed_and_only_replies_are_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from examples import trl_rollout_func as module
    from tests.examples.scripted import expert_plays, replies, several_turns, tokenizer

    tokens, seed = tokenizer(), several_turns()
    players = [replies(seed, tokens), replies(seed, tokens)]

    def generate(sequences: list[list[int]], *_: Any, num_generations: int) -> Any:
        return [player() for player, _ in zip(players, sequences, strict=True)], None

    trainer: Any = SimpleNamespace(
        processing_class=tokens, max_completion_length=64, use_vllm=False, _generate_single_turn=generate
    )
    output = module.play([str(seed)] * 2, trainer)
    actions, rewards, _ = expert_plays(seed)
    assert output["prompt_ids"][0] == output["prompt_ids"][1]
    assert output["completion_ids"][0] == output["completion_ids"][1]
    said = [t for t, mask in zip(output["completion_ids"][0], output["env_mask"][0], strict=True) if mask]
    assert tokens.decode(said) == "".join(action + tokens.eos_token for action in actions)
    assert output["reward"] == [pytest.approx(sum(rewards))] * 2
    assert output["success"] == [1.0, 1.0]


def test_the_environment_answers_after_its_end_and_begins_anew() -> None:
    from examples.trl_environment_factory import Episode
    from tests.examples.scripted import expert_plays, several_turns

    seed = several_turns()
    actions, rewards, messages = expert_plays(seed)
    episode = Episode()
    for _ in range(2):
        assert episode.reset(seed=seed, prompt=[]) == messages[0]
        assert [episode.act(action) for action in actions] == messages[1:]
        assert episode.get_reward() == pytest.approx(sum(rewards))
        assert episode.act("more") == "The episode is over."
        assert episode.get_reward() == pytest.approx(sum(rewards))
