"""The weights that are trained: a nano model, or any causal language model that Hugging Face's transformers loads.

Shapes in names: B sequences, T tokens, D hidden size, V vocabulary.
"""

from __future__ import annotations

import contextlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from gem.errors import InvalidArgument
from gem.training.policy.nano import Nano, is_supported
from gem.training.policy.prompts import Prompts, folder_of, load_prompts

WEIGHTS = "model.safetensors"
CONFIG = "config.json"


@contextlib.contextmanager
def unrounded(device: torch.device) -> Iterator[None]:
    """Within, what autocast would compute in bfloat16 is computed in float32, on a GPU by its tensor cores (TF32).

    A logit of 20 is rounded to steps of 0.125 in bfloat16. Sampler and learner add up in other orders, so one of them
    rounds up where the other rounds down: then a token's ratio is off by an eighth before anything was learned.
    """
    if not torch.is_autocast_enabled(device.type):
        yield
        return
    with torch.autocast(device.type, enabled=False), tensor_cores(device):
        yield


@contextlib.contextmanager
def tensor_cores(device: torch.device) -> Iterator[None]:
    """Within, a GPU multiplies matrices of float32 as TF32. Not everywhere: positions of more than 2,048 would be
    rounded in the angles that a model computes from them."""
    if device.type != "cuda":
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


class Policy(nn.Module, ABC):
    """A causal language model with, where a critic is wanted, a value head on its hidden states."""

    def __init__(self, prompts: Prompts) -> None:
        super().__init__()
        self.prompts = prompts
        self.value_head: nn.Linear | None = None

    @abstractmethod
    def hidden(self, ids_BT: Tensor) -> Tensor:
        """Hidden states (B, T, D) of sequences that are padded on the right, if at all."""

    @abstractmethod
    def logits(self, hidden: Tensor) -> Tensor:
        """(..., D) to (..., V), in float32 whatever the precision of the rest (see `unrounded`)."""

    @property
    @abstractmethod
    def vocabulary(self) -> int:
        """V, how many logits there are."""

    @property
    def longest(self) -> int | None:
        """Tokens of a sequence at most, where the configuration says so."""
        return None

    @abstractmethod
    def write(self, folder: Path) -> None:
        """Write what loads in `AutoModelForCausalLM` into a folder that exists."""

    @abstractmethod
    def read(self, folder: Path) -> None:
        """Take the weights that `write` wrote."""

    def add_critic(self, size: int) -> None:
        """Add a value head that says 0 at first."""
        head = nn.Linear(size, 1)
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        self.value_head = head

    def values(self, hidden: Tensor) -> Tensor:
        """What the critic says, (..., D) to (...), in float32 whatever the precision of the rest."""
        assert self.value_head is not None
        with torch.autocast(hidden.device.type, enabled=False):
            return self.value_head(hidden.float()).squeeze(-1)  # type: ignore[no-any-return]

    @contextlib.contextmanager
    def untrained(self) -> Iterator[bool]:
        """Within, the policy is the one it began as, if it can be; whether it can."""
        yield False


class NanoPolicy(Policy):
    """A Qwen3 model in our own implementation."""

    def __init__(self, net: Nano, prompts: Prompts) -> None:
        super().__init__(prompts)
        self.net = net

    def hidden(self, ids_BT: Tensor) -> Tensor:
        """As `Policy.hidden`."""
        return self.net.hidden(ids_BT)

    def logits(self, hidden: Tensor) -> Tensor:
        """As `Policy.logits`."""
        with unrounded(hidden.device):
            return self.net.logits(hidden.float())

    @property
    def vocabulary(self) -> int:
        """As `Policy.vocabulary`."""
        return int(self.net.config["vocab_size"])

    @property
    def longest(self) -> int | None:
        """As `Policy.longest`."""
        return int(self.net.config["max_position_embeddings"])

    def write(self, folder: Path) -> None:
        """As `Policy.write`."""
        write_weights(self.net, folder)
        for name, content in self.prompts.folder_files.items():
            (folder / name).write_text(content, encoding="utf-8")

    def read(self, folder: Path) -> None:
        """As `Policy.read`."""
        self.net.load_state_dict(_read_weights(folder / WEIGHTS))


class AutoPolicy(Policy):
    """Whatever `AutoModelForCausalLM` loads, with adapters if only those are to be trained.

    Dropout is off, also while learning: a response is weighed by the probability it was drawn with.

    Args:
        gradient_checkpointing: for the backward pass keep what went into each layer, and compute the rest anew.
    """

    def __init__(
        self, model: Any, prompts: Prompts, tokenizer_folder: str, *, gradient_checkpointing: bool = False
    ) -> None:
        super().__init__(prompts)
        self.model = model.eval()
        self._tokenizer_folder = tokenizer_folder
        self._recomputed: list[nn.Module] = []
        if gradient_checkpointing:
            model.activation_checkpointing_enable({"use_reentrant": False})
            self._recomputed = [one for one in model.modules() if getattr(one, "gradient_checkpointing", False)]

    @property
    def causal(self) -> Any:
        """The language model, inside adapters if there are any."""
        return self.model.get_base_model() if self.has_adapters else self.model

    @property
    def has_adapters(self) -> bool:
        """Whether only adapters are trained."""
        return hasattr(self.model, "disable_adapter")

    def hidden(self, ids_BT: Tensor) -> Tensor:
        """As `Policy.hidden`."""
        with self._recomputing():
            states: Tensor = self.causal.base_model(input_ids=ids_BT, use_cache=False).last_hidden_state
        return states

    @contextlib.contextmanager
    def _recomputing(self) -> Iterator[None]:
        """Within, layers compute anew what they do not keep. transformers does so only where a layer is in training,
        and then without a cache: so each layer is told it is, without the dropout inside it, and not for sampling."""
        for layer in self._recomputed:
            layer.training = True
        try:
            yield
        finally:
            for layer in self._recomputed:
                layer.training = False

    def logits(self, hidden: Tensor) -> Tensor:
        """As `Policy.logits`."""
        head = self.causal.get_output_embeddings()
        with unrounded(hidden.device):
            out: Tensor = head(hidden.to(head.weight.dtype))
        return out

    @property
    def vocabulary(self) -> int:
        """As `Policy.vocabulary`."""
        return int(self.causal.get_output_embeddings().weight.shape[0])

    @property
    def longest(self) -> int | None:
        """As `Policy.longest`."""
        positions: int | None = getattr(self.causal.config, "max_position_embeddings", None)
        return positions

    def write(self, folder: Path) -> None:
        """As `Policy.write`; of a policy with adapters only these, which name the model they belong to."""
        self.model.save_pretrained(folder, safe_serialization=True)
        from transformers import AutoTokenizer  # noqa: PLC0415

        AutoTokenizer.from_pretrained(self._tokenizer_folder).save_pretrained(folder)

    def read(self, folder: Path) -> None:
        """As `Policy.read`."""
        if self.has_adapters:
            from peft import set_peft_model_state_dict  # noqa: PLC0415

            set_peft_model_state_dict(self.model, _read_weights(folder / "adapter_model.safetensors"))
            return
        state = _read_weights(folder / WEIGHTS)
        missing, unexpected = self.model.load_state_dict(state, strict=False)
        tied = set(getattr(self.model, "all_tied_weights_keys", ()))
        if unexpected or set(missing) - tied:
            raise InvalidArgument(f"{folder} holds the weights of another model.")

    @contextlib.contextmanager
    def untrained(self) -> Iterator[bool]:
        """As `Policy.untrained`: without its adapters it is what it was."""
        if not self.has_adapters:
            yield False
            return
        with self.model.disable_adapter():
            yield True


def load_policy(
    model: str,
    *,
    lora_rank: int = 0,
    critic: bool = False,
    device: str = "cpu",
    gradient_checkpointing: bool = False,
) -> Policy:
    """The policy that a specification names, ready to be trained.

    Args:
        model: `nano-base`, a folder, or the id of a model on a hub.
        lora_rank: train adapters of this rank and nothing else; 0 trains all weights.
        critic: whether it needs a value head.
        gradient_checkpointing: as `AutoPolicy`; the policy is then one of transformers.

    Raises:
        InvalidArgument: if there is no such policy, or its files are not what they should be.
    """
    where = folder_of(model)
    config = read_config(Path(where)) if Path(where).is_dir() else {}
    policy: Policy
    ours = is_supported(config) and not lora_rank and not gradient_checkpointing
    if ours and (Path(where) / WEIGHTS).exists():
        policy = NanoPolicy(Nano(config), load_prompts(where))
        policy.read(Path(where))
    else:
        policy = _load_auto(where, lora_rank, gradient_checkpointing)
    if critic:
        policy.add_critic(policy_size(policy))
    return policy.to(device)


def policy_size(policy: Policy) -> int:
    """D, the size of the policy's hidden states."""
    if isinstance(policy, NanoPolicy):
        return int(policy.net.config["hidden_size"])
    assert isinstance(policy, AutoPolicy)
    return int(policy.causal.config.hidden_size)


def _load_auto(where: str, lora_rank: int, gradient_checkpointing: bool) -> Policy:
    from transformers import AutoModelForCausalLM  # noqa: PLC0415 (seconds, and a nano policy needs none of it)

    try:
        model: Any = AutoModelForCausalLM.from_pretrained(where, dtype=torch.float32, use_safetensors=True)
        prompts = load_prompts(where)
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{where!r} is no policy that can be loaded: {_first_line(error)}") from error
    if lora_rank:
        from peft import LoraConfig, get_peft_model  # noqa: PLC0415

        settings = LoraConfig(
            r=lora_rank, lora_alpha=2 * lora_rank, target_modules="all-linear", task_type="CAUSAL_LM", lora_dropout=0.0
        )
        model = get_peft_model(model, settings)
    try:
        policy = AutoPolicy(model, prompts, where, gradient_checkpointing=gradient_checkpointing)
    except ValueError as error:
        raise InvalidArgument(f"{where!r} cannot be trained with gradient_checkpointing: {error}") from error
    _check_head(policy, where)
    return policy


@torch.no_grad()
def _check_head(policy: AutoPolicy, where: str) -> None:
    """Some models change what comes out of their head (a soft cap, a scale); the learner would not see that."""
    ids_BT = torch.arange(min(4, policy.vocabulary))[None]
    theirs = policy.causal(input_ids=ids_BT, use_cache=False).logits
    ours = policy.logits(policy.hidden(ids_BT))
    if not torch.allclose(ours, theirs, rtol=1e-3, atol=1e-3):
        raise InvalidArgument(f"{where!r} has logits that are not its head on its last hidden states: choose another.")


def read_config(folder: Path) -> Mapping[str, Any]:
    """The configuration in a policy's folder.

    Raises:
        InvalidArgument: if there is none, or it is no JSON object with a model type.
    """
    path = folder / CONFIG
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"{folder} is no policy: it has no {CONFIG}.") from error
    except ValueError as error:
        raise InvalidArgument(f"{path} is not JSON: {error}.") from error
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise InvalidArgument(f"{path} is no model's configuration: it names no model_type.")
    return config


def write_weights(net: Nano, folder: Path) -> None:
    """Write a nano model as Hugging Face does."""
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in net.state_dict().items()}
    save_file(state, folder / WEIGHTS, metadata={"format": "pt"})
    (folder / CONFIG).write_text(json.dumps(net.config, indent=2) + "\n", encoding="utf-8")


def _read_weights(path: Path) -> dict[str, Tensor]:
    """Tensors by name from a safetensors file, which holds nothing that could be run.

    Raises:
        InvalidArgument: if it is no such file.
    """
    try:
        with safe_open(path, framework="pt"):
            pass  # opening it reads and checks the header
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InvalidArgument(f"{path} holds no weights in the safetensors format: {_first_line(error)}.") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
