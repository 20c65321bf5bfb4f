"""What only models of a real size have: a vocabulary of 151,936, many heads, and lengths that do not fit."""

from pathlib import Path
from typing import Any

import pytest
import torch

from gem.errors import InvalidArgument
from gem.rng import SplitMix64
from gem.training.failures import TrainingFailed
from gem.training.learner import Learner
from gem.training.policy.policies import AutoPolicy, NanoPolicy, load_policy, tf32_matmul
from gem.training.policy.policy_agent import PolicyAgent
from gem.training.policy.sampler import TransformersSampler
from gem.training.run_folder import RunFolder
from gem.training.spec import read_spec
from gem.training.trainer import train

VOCABULARY = 151_936


@pytest.fixture(scope="session")
def qwen3(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """Qwen3-0.6B's vocabulary, key heads and their size, and little of the rest."""
    from transformers import AutoTokenizer, Qwen3Config, Qwen3ForCausalLM

    folder = tmp_path_factory.mktemp("qwen3")
    torch.manual_seed(0)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 3, "vocab_size": VOCABULARY}
    heads = {"num_attention_heads": 8, "num_key_value_heads": 8, "head_dim": 128}
    config = Qwen3Config(**sizes, **heads, tie_word_embeddings=True, max_position_embeddings=512, eos_token_id=1)
    Qwen3ForCausalLM(config).save_pretrained(folder)
    AutoTokenizer.from_pretrained(tiny).save_pretrained(folder)
    return folder


def test_slots_are_for_small_models_only(qwen3: Path, tiny: Path) -> None:
    assert isinstance(load_policy(str(tiny)), NanoPolicy)
    assert isinstance(load_policy(str(qwen3)), AutoPolicy)  # 25 kB a token and slot


@pytest.mark.parametrize(
    "settings",
    [
        {"algorithm": "ppo"},
        {"algorithm": "reinforce", "precision": "bfloat16", "gradient_checkpointing": True},
        {"lora_rank": 4, "kl_coefficient": 0.1, "entropy_bonus": 0.01, "precision": "bfloat16"},
    ],
)
def test_its_vocabulary_is_never_whole_in_memory(
    qwen3: Path, small: dict[str, Any], settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gem.training.learner.MAX_LOGITS", 8 * VOCABULARY)
    most: list[int] = []
    logits = AutoPolicy.logits

    def counted(self: AutoPolicy, hidden: torch.Tensor) -> torch.Tensor:
        most.append(hidden[..., 0].numel())
        return logits(self, hidden)

    monkeypatch.setattr(AutoPolicy, "logits", counted)
    spec = {**small, "model": str(qwen3), "episodes": 4, "updates": 1, "max_tokens": 5, "exam_episodes": 0, **settings}
    train(read_spec({**spec, "epochs": 1}), tmp_path)
    (row,) = RunFolder(tmp_path).metrics()
    assert row["gradient_norm"] > 0
    assert row["kl"] < 1e-3  # what the sampler and the learner say of the same tokens
    assert max(most) == 8


def test_the_critic_says_the_same_to_sampler_and_learner(qwen3: Path) -> None:
    policy = load_policy(str(qwen3), critic=True)
    assert policy.value_head is not None
    assert isinstance(policy, AutoPolicy)
    torch.nn.init.normal_(policy.value_head.weight)
    prompts = [[5, 6, 7], [8, 9, 10, 11, 12, 13], [14]]
    responses = TransformersSampler(policy, 2).respond(prompts, range(3), [SplitMix64(i) for i in range(3)], 1.0)
    for prompt, response in zip(prompts, responses, strict=True):
        (value,) = policy.values(policy.hidden(torch.tensor([prompt]))[:, -1]).tolist()
        assert response.values[0] == pytest.approx(value, abs=1e-4)


def test_logits_are_not_rounded_to_bfloat16(tiny: Path, qwen3: Path) -> None:
    for folder in (tiny, qwen3):
        policy = load_policy(str(folder))
        hidden = 20 * torch.randn(4, 32 if folder == tiny else 16, generator=torch.Generator().manual_seed(0))
        exact = policy.logits(hidden)
        with torch.autocast("cpu", torch.bfloat16):
            assert torch.equal(policy.logits(hidden), exact)
            assert policy.logits(hidden.bfloat16()).dtype == torch.float32


def test_a_gpu_multiplies_as_tf32_only_where_it_is_told_to() -> None:
    matmul = torch.backends.cuda.matmul
    assert not matmul.allow_tf32
    with tf32_matmul(torch.device("cuda:1")):
        assert matmul.allow_tf32
    with tf32_matmul(torch.device("cpu")):
        assert not matmul.allow_tf32


def test_a_sequence_longer_than_the_model_reads_is_refused(
    qwen3: Path, tiny: Path, small: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(InvalidArgument, match=r"max_length is 2048: lower it, for .* reads 512 tokens at most"):
        train(read_spec({**small, "model": str(qwen3), "max_length": 2048}), tmp_path / "run")
    agent = PolicyAgent(tiny)  # it has no card, whose max_length would be 1024
    assert agent.writer.max_length == 256


def test_a_full_memory_is_a_reason_with_what_to_do(
    small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Learner, "learn", lambda *_: torch.empty(2**60))
    with pytest.raises(TrainingFailed, match="half of microbatch_tokens"):
        train(read_spec(small), tmp_path)
    state = RunFolder(tmp_path).state()
    assert state["state"] == "failed"
    assert "gradient_checkpointing=true" in state["reason"]
