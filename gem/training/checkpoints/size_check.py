"""Whether the model that a `config.json` describes has the size of the weights beside it. Needs no torch.

A library makes a model from its configuration before it reads the weights, so a few bytes of JSON could ask for any
amount of memory. Whether both really belong together is found when the weights are loaded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

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


def _named(*names: str, default: Any = ...) -> Any:
    """A size that architectures call by different names."""
    return Field(default, validation_alias=AliasChoices(*names), ge=0)


class _Sizes(BaseModel):
    """The sizes in a configuration that decide how many parameters a model has."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    vocab_size: int = _named("vocab_size")
    hidden_size: int = _named("hidden_size", "n_embd")
    num_hidden_layers: int = _named("num_hidden_layers", "n_layer")
    num_attention_heads: int = _named("num_attention_heads", "n_head", default=1)
    num_key_value_heads: int | None = _named("num_key_value_heads", "num_kv_heads", default=0)
    head_dim: int | None = _named("head_dim", default=0)
    feed_forward_size: int | None = _named(
        "moe_intermediate_size", "intermediate_size", "n_inner", "ffn_dim", default=0
    )
    intermediate_size: int | None = _named("intermediate_size", "ffn_hidden_size", default=0)
    shared_expert_intermediate_size: int | None = _named("shared_expert_intermediate_size", default=0)
    experts: int | None = _named("num_experts", "num_local_experts", "n_routed_experts", default=1)
    word_embed_proj_dim: int | None = _named("word_embed_proj_dim", default=0)

    def parameters(self) -> int:
        """About how many parameters a model of these sizes has at least."""
        head_dim = self.head_dim or self.hidden_size // max(1, self.num_attention_heads)
        attention = 2 * head_dim * (self.num_attention_heads + (self.num_key_value_heads or 0))
        feed_forward = 2 * (self.feed_forward_size or 0) * max(1, self.experts or 1)
        layer = self.hidden_size * (attention + feed_forward)
        return self.vocab_size * self.hidden_size + self.num_hidden_layers * layer


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
