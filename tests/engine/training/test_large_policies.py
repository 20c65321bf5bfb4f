"""Policies of transformers: whole, with adapters, and in bfloat16."""

from pathlib import Path
from typing import Any

import pytest
import torch

from gem.errors import InvalidArgument
from gem.training.checkpoints import checkpoint
from gem.training.failures import TrainingFailed
from gem.training.policy.policies import AutoPolicy, Policy, load_policy
from gem.training.policy.prompts import ChatPromptFormat, load_prompt_format
from gem.training.run_folder import RunFolder
from gem.training.spec import read_spec
from gem.training.starting import choose_device
from gem.training.trainer import train


@pytest.fixture(scope="session")
def gpt2(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Path:
    """Another architecture, with the tokenizer of chats."""
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("gpt2")
    tokenizer = PreTrainedTokenizerFast.from_pretrained(tiny)
    torch.manual_seed(0)
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=256, n_embd=32, n_layer=1, n_head=2, eos_token_id=1)
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def test_any_causal_model_can_be_trained_and_goes_on(gpt2: Path, small: dict[str, Any], tmp_path: Path) -> None:
    spec = {**small, "model": str(gpt2), "episodes": 8, "updates": 2, "max_tokens": 4, "kl_coefficient": 0.1}
    spec |= {"epochs": 1, "entropy_bonus": 0.01}
    train(read_spec(spec), tmp_path / "whole")
    train(read_spec(spec), tmp_path / "whole")  # nothing is left to do
    rows = RunFolder(tmp_path / "whole").metrics()
    assert [row["update"] for row in rows] == [1, 2]
    assert rows[1]["kl_reference"] > 0
    assert max(row["kl"] for row in rows) < 1e-6  # the learner finds the probabilities of the draws: without dropout
    last = checkpoint.list_checkpoints(tmp_path / "whole" / "checkpoints")[-1]
    again = load_policy(str(last))
    assert isinstance(again, AutoPolicy)
    again.load_weights(last)


def test_adapters_alone_are_trained_and_kept(tiny: Path, small: dict[str, Any], tmp_path: Path) -> None:
    spec = {**small, "lora_rank": 4, "updates": 2, "kl_coefficient": 0.1, "episodes": 16}
    train(read_spec(spec), tmp_path)
    last = checkpoint.list_checkpoints(tmp_path / "checkpoints")[-1]
    assert (last / "adapter_model.safetensors").exists()
    assert not (last / "model.safetensors").exists()
    policy = load_policy(str(tiny), lora_rank=4)
    trainable = {name for name, one in policy.named_parameters() if one.requires_grad}
    assert trainable
    assert all("lora" in name for name in trainable)
    before = {name: one.clone() for name, one in policy.named_parameters() if name in trainable}
    policy.load_weights(last)
    assert any(not torch.equal(one, before[name]) for name, one in policy.named_parameters() if name in trainable)


def test_bfloat16_trains_as_well(small: dict[str, Any], tmp_path: Path) -> None:
    train(read_spec({**small, "precision": "bfloat16", "updates": 2, "algorithm": "ppo"}), tmp_path)
    rows = RunFolder(tmp_path).metrics()
    assert len(rows) == 2
    assert 0 < rows[0]["gradient_norm"] < 1e6


def test_gradient_checkpointing_keeps_less_and_changes_nothing(
    tiny: Path, small: dict[str, Any], tmp_path: Path
) -> None:
    rows = []
    for checkpointing in (False, True):
        spec = {**small, "gradient_checkpointing": checkpointing, "updates": 2, "episodes": 8}
        train(read_spec(spec), tmp_path / str(checkpointing))
        rows.append(RunFolder(tmp_path / str(checkpointing)).metrics()[-1])
    for name in ("return", "entropy", "gradient_norm", "policy_loss"):
        assert rows[0][name] == pytest.approx(rows[1][name], rel=1e-3, abs=1e-5), name
    with_adapters = {**small, "gradient_checkpointing": True, "updates": 1, "episodes": 8, "lora_rank": 4}
    train(read_spec(with_adapters), tmp_path / "adapters")
    assert RunFolder(tmp_path / "adapters").metrics()[0]["gradient_norm"] > 0
    whole, saving = _auto(tiny), load_policy(str(tiny), gradient_checkpointing=True)
    assert _kept(saving) < 0.5 * _kept(whole)


def _auto(folder: Path) -> AutoPolicy:
    from transformers import AutoModelForCausalLM

    return AutoPolicy(AutoModelForCausalLM.from_pretrained(folder), load_prompt_format(folder), str(folder))


def _kept(policy: Policy) -> int:
    """Numbers that a forward pass keeps for its backward pass, weights not counted."""
    kept: dict[int, int] = {}
    weights = {one.data_ptr() for one in policy.parameters()}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        if tensor.data_ptr() not in weights:
            kept[tensor.data_ptr()] = tensor.numel()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        states = policy.hidden(torch.arange(100)[None] % 50)
    assert states.requires_grad
    return sum(kept.values())


def test_a_model_that_changes_its_logits_after_the_head_is_refused(tiny: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer, Gemma2Config, Gemma2ForCausalLM

    tokenizer = AutoTokenizer.from_pretrained(tiny)
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "head_dim": 8}
    heads = {"num_attention_heads": 2, "num_key_value_heads": 1, "vocab_size": len(tokenizer)}
    Gemma2ForCausalLM(Gemma2Config(**sizes, **heads, final_logit_softcapping=1e-3)).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(InvalidArgument, match="logits that are not its head"):
        load_policy(str(tmp_path))


def test_each_process_of_a_node_has_a_gpu_of_its_own(small: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert choose_device(read_spec(small)) == "cuda:1"
    assert chosen == [1]
    assert choose_device(read_spec({**small, "device": "cpu"})) == "cpu"
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(TrainingFailed, match="There are 2 GPUs here"):
        choose_device(read_spec(small))


def test_a_chat_is_read_as_its_template_would_write_it(tiny: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny)
    tokenizer.chat_template = (
        "{% for m in messages %}[{{ m['role'] }}]{{ m['content'] }}"
        "{% if m['role'] == 'assistant' %}<eos>{% endif %}\n{% endfor %}"
        "{% if add_generation_prompt %}[assistant]{% endif %}"
    )
    prompts = ChatPromptFormat(tokenizer)
    (first,), (later,) = prompts.encode_first(["What?\n"]), prompts.encode_later(["And now?\n"])
    response = [*tokenizer("\\boxed{A}", add_special_tokens=False)["input_ids"], prompts.end_token]
    chat = [("user", "What?"), ("assistant", "\\boxed{A}"), ("user", "And now?")]
    whole = tokenizer.apply_chat_template(
        [{"role": role, "content": content} for role, content in chat], tokenize=False, add_generation_prompt=True
    )
    assert tokenizer.decode([*first, *response, *later]) == whole


def test_the_tokenizer_of_a_nano_policy_has_its_prompts_as_a_chat_template(tiny: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer, prompts = AutoTokenizer.from_pretrained(tiny), load_prompt_format(tiny)
    templated = tokenizer.apply_chat_template([{"role": "user", "content": "Which arm?"}], tokenize=False)
    assert tokenizer(templated, add_special_tokens=False)["input_ids"] == prompts.encode_first(["Which arm?\n"])[0]


def test_transformers_takes_the_answer_of_a_nano_policy_apart_from_its_prompt(tiny: Path) -> None:
    """`transformers serve` would answer with both: it takes the model for a Qwen3, by its type."""
    from transformers import AutoTokenizer

    tokenizer, prompts = AutoTokenizer.from_pretrained(tiny), load_prompt_format(tiny)
    prompt = tokenizer.decode(prompts.encode_first(["Which arm?\n"])[0])
    parsed = tokenizer.parse_response(prompts.encode_response("\\boxed{A}"), tokenizer.response_template, prefix=prompt)
    assert parsed == {"role": "assistant", "content": "\\boxed{A}"}


def test_what_cannot_be_loaded_is_said(small: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="There is no folder"):
        train(read_spec({**small, "model": str(tmp_path / "nowhere")}), tmp_path / "run")
