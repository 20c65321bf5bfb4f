"""Whether the model that a `config.json` describes has the size of the weights beside it. Needs no torch.

A library makes a model from its configuration before it reads the weights, so a few bytes of JSON could ask for any
amount of memory. Whether both really belong together is found when the weights are loaded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError, model_validator

from gem.errors import InvalidArgument

Shapes = Mapping[str, Sequence[int]]
"""The shape of each tensor by its name."""
LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d+)\.")
"""The number of the layer in the name of a tensor."""
TOLERANCE = 4
"""How many times more parameters a configuration may imply than there are: some sizes apply to a part of the layers."""
MISMATCH = "config.json and the weights do not belong together"
SPARE_PARAMETERS = 1_000_000
MAX_LABELS = 10_000


LEARNED_POSITIONS = {"gpt2", "opt"}
"""Types of models that have a parameter for each position; the others compute them."""
EXPERTS_APART = {"qwen2_moe", "qwen3_moe"}
"""Types of models whose experts have a size of their own."""
ALIASES = {
    "hidden_size": ("n_embd",),
    "num_hidden_layers": ("n_layer",),
    "num_attention_heads": ("n_head",),
    "num_key_value_heads": ("num_kv_heads",),
    "intermediate_size": ("n_inner", "ffn_dim", "ffn_hidden_size"),
    "experts": ("num_experts", "num_local_experts", "n_routed_experts"),
    "positions": ("max_position_embeddings", "n_positions", "n_ctx"),
}
"""What architectures call a size. Which one a library reads depends on the type, so the largest counts."""


class _Sizes(BaseModel):
    """The sizes in a configuration that decide how many parameters a model has."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    vocab_size: NonNegativeInt
    hidden_size: NonNegativeInt
    num_hidden_layers: NonNegativeInt
    num_attention_heads: NonNegativeInt = 1
    num_key_value_heads: NonNegativeInt = 0
    head_dim: NonNegativeInt = 0
    intermediate_size: NonNegativeInt = 0
    moe_intermediate_size: NonNegativeInt = 0
    shared_expert_intermediate_size: NonNegativeInt = 0
    experts: NonNegativeInt = 1
    word_embed_proj_dim: NonNegativeInt = 0
    positions: NonNegativeInt = 0

    @model_validator(mode="before")
    @classmethod
    def _take_the_largest(cls, config: Mapping[str, Any]) -> dict[str, Any]:
        unused = set() if config.get("model_type") in LEARNED_POSITIONS else {"positions"}
        unused |= set() if config.get("model_type") in EXPERTS_APART else {"moe_intermediate_size"}
        named = {
            name: [config[each] for each in (name, *ALIASES.get(name, ())) if config.get(each) is not None]
            for name in cls.model_fields
            if name not in unused
        }
        return {name: _largest(sizes) for name, sizes in named.items() if sizes}

    def parameters(self) -> int:
        """About how many parameters a model of these sizes has at least."""
        head_dim = self.head_dim or self.hidden_size // max(1, self.num_attention_heads)
        attention = 2 * head_dim * (self.num_attention_heads + self.num_key_value_heads)
        experts = max(1, self.experts) * (self.moe_intermediate_size or self.intermediate_size)
        layer = self.hidden_size * (attention + 2 * max(self.intermediate_size, experts))
        return (self.vocab_size + self.positions) * self.hidden_size + self.num_hidden_layers * layer


def _largest(sizes: Sequence[Any]) -> Any:
    """The largest size; what is no number instead, so that it is refused."""
    strange = [size for size in sizes if not isinstance(size, int)]
    return strange[0] if strange else max(sizes)


def check_sizes(config: Mapping[str, Any], shapes: Shapes) -> None:
    """Check that a configuration describes a model of the size of the tensors.

    Raises:
        InvalidArgument: if it does not; the message names the entry.
    """
    try:
        sizes = _Sizes.model_validate(config)
    except ValidationError as error:
        first = error.errors()[0]
        raise InvalidArgument(f"config.json: {'.'.join(map(str, first['loc']))}: {first['msg'].lower()}.") from error
    dimensions = {size for shape in shapes.values() for size in shape}
    for name in ("vocab_size", "hidden_size"):
        if getattr(sizes, name) not in dimensions:
            raise InvalidArgument(f"{MISMATCH}: {name} is {getattr(sizes, name):,}, and no tensor has this size.")
    layers = len(_layer_numbers(shapes))
    if sizes.num_hidden_layers != layers:
        raise InvalidArgument(
            f"{MISMATCH}: num_hidden_layers is {sizes.num_hidden_layers:,}, and the weights have {layers:,} layers."
        )
    _check_amounts(sizes, config, shapes, max(dimensions))


def _check_amounts(sizes: _Sizes, config: Mapping[str, Any], shapes: Shapes, largest: int) -> None:
    """Check the sizes that need not be those of a tensor, and what all of them imply together."""
    for name, size in sizes:
        if isinstance(size, int) and size > largest:
            raise InvalidArgument(f"{MISMATCH}: {name} is {size:,}, more than any size of a tensor.")
    labels = config.get("num_labels", 0)
    if not isinstance(labels, int) or labels > MAX_LABELS:
        raise InvalidArgument(f"config.json: num_labels: at most {MAX_LABELS:,}.")
    number = sum(math.prod(shape) for shape in shapes.values())
    if sizes.parameters() > TOLERANCE * number + SPARE_PARAMETERS:
        raise InvalidArgument(
            f"{MISMATCH}: it describes a model of at least "
            f"{sizes.parameters():,} parameters, and the weights are {number:,}."
        )


def _layer_numbers(names: Iterable[str]) -> set[int]:
    return {int(match[1][:9]) for name in names if (match := LAYER.search(name))}
