"""The weights that are trained: a nano model, or any causal language model that Hugging Face's transformers loads.

Shapes in names: B sequences, T tokens, D hidden size, V vocabulary.
"""

from __future__ import annotations

import contextlib
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from gem.errors import InvalidArgument
from gem.training.built_in_policies import policy_location
from gem.training.policy.nano import Nano, is_supported
from gem.training.policy.prompts import PromptFormat, load_prompt_format

WEIGHTS = "model.safetensors"
CONFIG = "config.json"
HUB_MODEL = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
"""The form of the id of a model on a hub: its name, with that of its owner in front of it."""


class Policy(nn.Module, ABC):
    """A causal language model and, for algorithms with a critic, a value head on its hidden states."""

    def __init__(self, prompt_format: PromptFormat) -> None:
        super().__init__()
        self.prompt_format = prompt_format
        self.value_head: nn.Linear | None = None

    @abstractmethod
    def hidden(self, ids_BT: Tensor) -> Tensor:
        """Hidden states (B, T, D) of sequences that are padded on the right, if at all."""

    @abstractmethod
    def logits(self, hidden: Tensor) -> Tensor:
        """The logits of the next token, (..., D) to (..., V), in float32 even under autocast (see `in_float32`)."""

    @property
    @abstractmethod
    def vocab_size(self) -> int:
        """V, the number of logits."""

    @property
    def max_length(self) -> int | None:
        """The most tokens of a sequence, if the model's configuration states it."""
        return None

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write the files that `AutoModelForCausalLM` loads into a folder that exists."""

    @abstractmethod
    def load_weights(self, folder: Path) -> None:
        """Load the weights that `save` wrote."""

    def add_critic(self, hidden_size: int) -> None:
        """Add a value head that estimates 0 at first."""
        head = nn.Linear(hidden_size, 1)
        nn.init.zeros_(head.weight)
        nn.init.zeros_(head.bias)
        self.value_head = head

    def values(self, hidden: Tensor) -> Tensor:
        """The critic's estimates, (..., D) to (...), in float32 even under autocast."""
        assert self.value_head is not None
        with torch.autocast(hidden.device.type, enabled=False):
            return self.value_head(hidden.float()).squeeze(-1)  # type: ignore[no-any-return]

    @contextlib.contextmanager
    def as_reference(self) -> Iterator[bool]:
        """Compute with the weights that the training began with within the context, if the policy still has them.

        Yields whether it does; otherwise a frozen copy of the first policy has to be used.
        """
        yield False


class NanoPolicy(Policy):
    """A Qwen3 model in our own implementation."""

    def __init__(self, net: Nano, prompt_format: PromptFormat) -> None:
        super().__init__(prompt_format)
        self.net = net

    def hidden(self, ids_BT: Tensor) -> Tensor:
        """See `Policy.hidden`."""
        return self.net.hidden(ids_BT)

    def logits(self, hidden: Tensor) -> Tensor:
        """See `Policy.logits`."""
        with in_float32(hidden.device):
            return self.net.logits(hidden.float())

    @property
    def vocab_size(self) -> int:
        """See `Policy.vocab_size`."""
        return int(self.net.config["vocab_size"])

    @property
    def max_length(self) -> int | None:
        """See `Policy.max_length`."""
        return int(self.net.config["max_position_embeddings"])

    def save(self, folder: Path) -> None:
        """See `Policy.save`."""
        write_weights(self.net, folder)
        for name, content in self.prompt_format.tokenizer_files.items():
            (folder / name).write_text(content, encoding="utf-8")

    def load_weights(self, folder: Path) -> None:
        """See `Policy.load_weights`."""
        self.net.load_state_dict(_read_weights(folder / WEIGHTS))


class AutoPolicy(Policy):
    """Any model that `AutoModelForCausalLM` loads, with adapters if only those are trained.

    Dropout is off even while learning, because a response is weighted by the probability it was drawn with.

    Args:
        tokenizer_location: the folder of the tokenizer, or the id of a model on a hub.
        gradient_checkpointing: keep only the inputs of each layer for the backward pass, and recompute the rest.
    """

    def __init__(
        self, model: Any, prompt_format: PromptFormat, tokenizer_location: str, *, gradient_checkpointing: bool = False
    ) -> None:
        super().__init__(prompt_format)
        self.model = model.eval()
        self._tokenizer_location = tokenizer_location
        self._checkpointed_layers: list[nn.Module] = []
        if gradient_checkpointing:
            model.activation_checkpointing_enable({"use_reentrant": False})
            self._checkpointed_layers = [
                module for module in model.modules() if getattr(module, "gradient_checkpointing", False)
            ]

    @property
    def causal_lm(self) -> Any:
        """The language model, without the wrapper that holds its adapters if there are any."""
        return self.model.get_base_model() if self.has_adapters else self.model

    @property
    def has_adapters(self) -> bool:
        """Whether only adapters are trained."""
        return hasattr(self.model, "disable_adapter")

    def hidden(self, ids_BT: Tensor) -> Tensor:
        """See `Policy.hidden`."""
        with self._gradient_checkpointing():
            hidden_BTD: Tensor = self.causal_lm.base_model(input_ids=ids_BT, use_cache=False).last_hidden_state
        return hidden_BTD

    @contextlib.contextmanager
    def _gradient_checkpointing(self) -> Iterator[None]:
        """Have the layers recompute within the context what they do not keep.

        transformers checkpoints a layer only in training mode, and then does not use a cache. So only the layers
        themselves are put into training mode, not the dropout inside them, and not while sampling.
        """
        for layer in self._checkpointed_layers:
            layer.training = True
        try:
            yield
        finally:
            for layer in self._checkpointed_layers:
                layer.training = False

    def logits(self, hidden: Tensor) -> Tensor:
        """See `Policy.logits`."""
        head = self.causal_lm.get_output_embeddings()
        with in_float32(hidden.device):
            logits: Tensor = head(hidden.to(head.weight.dtype))
        return logits

    @property
    def vocab_size(self) -> int:
        """See `Policy.vocab_size`."""
        return int(self.causal_lm.get_output_embeddings().weight.shape[0])

    @property
    def max_length(self) -> int | None:
        """See `Policy.max_length`."""
        max_length: int | None = getattr(self.causal_lm.config, "max_position_embeddings", None)
        return max_length

    def save(self, folder: Path) -> None:
        """See `Policy.save`; of a policy with adapters, only these are written, and they name the model they need."""
        self.model.save_pretrained(folder, safe_serialization=True)
        from transformers import AutoTokenizer  # noqa: PLC0415

        AutoTokenizer.from_pretrained(self._tokenizer_location).save_pretrained(folder)

    def load_weights(self, folder: Path) -> None:
        """See `Policy.load_weights`."""
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
    def as_reference(self) -> Iterator[bool]:
        """See `Policy.as_reference`: with its adapters disabled, the model has its first weights."""
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
    """Load the policy that a specification names, ready to be trained.

    Args:
        model: a policy of `BUILT_IN_POLICIES`, such as `nano-base`, a folder, or the id of a model on a hub.
        lora_rank: train adapters of this rank and nothing else; 0 trains all weights.
        critic: whether to add a value head.
        gradient_checkpointing: see `AutoPolicy`, which the policy then is.

    Raises:
        InvalidArgument: if there is no such policy, or its files are not what they should be.
    """
    location = policy_location(model)
    config = read_config(Path(location)) if Path(location).is_dir() else {}
    policy: Policy
    is_nano = is_supported(config) and not lora_rank and not gradient_checkpointing
    if is_nano and (Path(location) / WEIGHTS).exists():
        policy = NanoPolicy(Nano(config), load_prompt_format(location))
        policy.load_weights(Path(location))
    else:
        policy = _load_auto_policy(location, lora_rank, gradient_checkpointing)
    if critic:
        policy.add_critic(hidden_size(policy))
    return policy.to(device)


def hidden_size(policy: Policy) -> int:
    """D, the size of the policy's hidden states."""
    if isinstance(policy, NanoPolicy):
        return int(policy.net.config["hidden_size"])
    assert isinstance(policy, AutoPolicy)
    return int(policy.causal_lm.config.hidden_size)


def _load_auto_policy(location: str, lora_rank: int, gradient_checkpointing: bool) -> Policy:
    if not HUB_MODEL.fullmatch(location) and not Path(location).is_dir():
        raise InvalidArgument(f"There is no folder {location!r}, and no model of a hub can be called that.")
    from transformers import AutoModelForCausalLM  # noqa: PLC0415 (takes seconds, and nano policies do not need it)

    try:
        model: Any = AutoModelForCausalLM.from_pretrained(location, dtype=torch.float32, use_safetensors=True)
        prompt_format = load_prompt_format(location)
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{location!r} is no policy that can be loaded: {_first_line(error)}") from error
    if lora_rank:
        from peft import LoraConfig, get_peft_model  # noqa: PLC0415

        settings = LoraConfig(
            r=lora_rank, lora_alpha=2 * lora_rank, target_modules="all-linear", task_type="CAUSAL_LM", lora_dropout=0.0
        )
        model = get_peft_model(model, settings)
    try:
        policy = AutoPolicy(model, prompt_format, location, gradient_checkpointing=gradient_checkpointing)
    except ValueError as error:
        raise InvalidArgument(f"{location!r} cannot be trained with gradient_checkpointing: {error}") from error
    _check_head(policy, location)
    return policy


@torch.no_grad()
def _check_head(policy: AutoPolicy, location: str) -> None:
    """Refuse a model that changes the output of its head, by a soft cap or a scale: the learner would miss that.

    Raises:
        InvalidArgument: if the model's logits are not its head's output.
    """
    ids_BT = torch.arange(min(4, policy.vocab_size))[None]
    model_logits = policy.causal_lm(input_ids=ids_BT, use_cache=False).logits
    head_logits = policy.logits(policy.hidden(ids_BT))
    if not torch.allclose(head_logits, model_logits, rtol=1e-3, atol=1e-3):
        raise InvalidArgument(
            f"{location!r} has logits that are not its head on its last hidden states: choose another."
        )


@contextlib.contextmanager
def in_float32(device: torch.device) -> Iterator[None]:
    """Compute in float32 within the context what autocast would compute in bfloat16; on a GPU as TF32.

    In bfloat16 a logit of 20 is rounded to steps of 0.125. Sampler and learner add numbers up in different orders, so
    one of them may round up where the other rounds down, and the token's probability ratio is then off by an eighth
    before anything was learned.
    """
    if not torch.is_autocast_enabled(device.type):
        yield
        return
    with torch.autocast(device.type, enabled=False), tf32_matmul(device):
        yield


@contextlib.contextmanager
def tf32_matmul(device: torch.device) -> Iterator[None]:
    """Let a GPU multiply float32 matrices on its tensor cores, as TF32, within the context.

    This is not enabled everywhere, because TF32 would round the positions beyond 2,048 from which a model computes
    angles.
    """
    if device.type != "cuda":
        yield
        return
    precision = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(precision)


def read_config(folder: Path) -> Mapping[str, Any]:
    """The configuration in a policy's folder.

    Raises:
        InvalidArgument: if there is none, or it is not a JSON object with a model type.
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
    """Write a nano model's weights and configuration in Hugging Face's format."""
    state = {name: tensor.detach().cpu().contiguous() for name, tensor in net.state_dict().items()}
    save_file(state, folder / WEIGHTS, metadata={"format": "pt"})
    (folder / CONFIG).write_text(json.dumps(net.config, indent=2) + "\n", encoding="utf-8")


def _read_weights(path: Path) -> dict[str, Tensor]:
    """Tensors by name from a safetensors file, a format that cannot contain programs.

    Raises:
        InvalidArgument: if the file is not in this format.
    """
    try:
        with safe_open(path, framework="pt"):
            pass  # opening the file checks its header
        return load_file(path)
    except (OSError, SafetensorError) as error:
        raise InvalidArgument(f"{path} holds no weights in the safetensors format: {_first_line(error)}.") from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
