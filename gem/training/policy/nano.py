"""A small Qwen3 model with a forward pass of its own, which keeps keys and values in a cache with slots.

Its parameters have the names that Hugging Face's `Qwen3ForCausalLM` uses, and its logits are equal: a folder written
here loads in `AutoModelForCausalLM`, and vice versa. The reason for a forward pass of its own is the cache: each
episode owns a slot, and a turn computes only the tokens that are new in it.

Shapes in names: B sequences, T tokens, L cache length, D hidden size, V vocabulary.

Source: Qwen3 technical report (arXiv 2505.09388): grouped-query attention with normalized queries and keys, rotary
positions, gated linear units, root mean square norms, tied embeddings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

Config = Mapping[str, Any]
"""The content of `config.json` in a Hugging Face folder."""
MAX_CACHE_BYTES_PER_TOKEN = 16 * 1024
"""Limit on the keys and values of a token. Every slot has room for the longest sequence: with the 229 kB per token of
Qwen3-0.6B, a hundred episodes would take more memory than a GPU has."""


def nano_config(vocab_size: int, *, hidden: int = 64, layers: int = 2, max_length: int = 2048) -> dict[str, Any]:
    """The configuration of a nano model.

    With a hidden size of 64, 2 layers and a vocabulary of 2,048 tokens it has 0.23 million parameters.
    """
    heads = max(2, hidden // 32)
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": vocab_size,
        "hidden_size": hidden,
        "intermediate_size": 3 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": max(1, heads // 2),
        "head_dim": hidden // heads,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "max_position_embeddings": max_length,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "tie_word_embeddings": True,
        "use_sliding_window": False,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "torch_dtype": "float32",
    }


def cache_bytes_per_token(config: Config) -> int:
    """Bytes of the keys and values of a token, in float32."""
    return int(2 * 4 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"])


def is_supported(config: Config) -> bool:
    """Whether `Nano` computes the same as Hugging Face for this configuration, and its cache is small enough."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    return (
        config.get("model_type") == "qwen3"
        and bool(config.get("tie_word_embeddings"))
        and not config.get("attention_bias")
        and not config.get("use_sliding_window")
        and config.get("hidden_act", "silu") == "silu"
        and rope.get("rope_type", "default") == "default"
        and {"num_hidden_layers", "num_key_value_heads", "head_dim"} <= config.keys()
        and cache_bytes_per_token(config) <= MAX_CACHE_BYTES_PER_TOKEN
    )


class SlotCache:
    """Keys and values of one sequence in each slot; the cache grows with the longest sequence.

    Args:
        slots: how many sequences it holds.
        min_length: tokens for which memory is allocated at first.
    """

    def __init__(self, config: Config, slots: int, min_length: int = 128) -> None:
        self.slots = slots
        self.length = 0
        """Tokens for which every slot has memory now."""
        self.key_heads, self.head_size = config["num_key_value_heads"], config["head_dim"]
        self.layers = config["num_hidden_layers"]
        self.keys: list[Tensor] = []
        """One tensor for each layer, (slots, key heads, length, head size)."""
        self.values: list[Tensor] = []
        """One tensor for each layer, shaped like the keys."""
        self._min_length = min_length

    def reserve(self, length: int, like: Tensor) -> None:
        """Allocate memory for sequences of `length` tokens, on the device and with the type of `like`."""
        if length <= self.length:
            return
        new_length = max(length, 2 * self.length, self._min_length)
        for tensors in (self.keys, self.values):
            old_tensors, tensors[:] = list(tensors), []
            for i in range(self.layers):
                tensor = like.new_zeros((self.slots, self.key_heads, new_length, self.head_size))
                if old_tensors:
                    tensor[:, :, : self.length] = old_tensors[i]
                tensors.append(tensor)
        self.length = new_length

    def select(self, slots: Tensor) -> None:
        """Keep these slots only, in this order; a slot may be kept several times."""
        self.slots = len(slots)
        for tensors in (self.keys, self.values):
            tensors[:] = [tensor[slots] for tensor in tensors]


class CachePositions(NamedTuple):
    """Where new tokens are written into the cache: their slots, their positions, and what each may attend to."""

    slots_B: Tensor  # noqa: N815
    positions_BT: Tensor  # noqa: N815
    mask_B1TL: Tensor  # noqa: N815
    length: int
    """How many positions of the cache are attended to."""


class Attention(nn.Module):
    """Grouped-query attention with rotary positions."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.heads, self.key_heads = config["num_attention_heads"], config["num_key_value_heads"]
        self.size = config["head_dim"]
        hidden = config["hidden_size"]
        self.q_proj = nn.Linear(hidden, self.heads * self.size, bias=False)
        self.k_proj = nn.Linear(hidden, self.key_heads * self.size, bias=False)
        self.v_proj = nn.Linear(hidden, self.key_heads * self.size, bias=False)
        self.o_proj = nn.Linear(self.heads * self.size, hidden, bias=False)
        self.q_norm = nn.RMSNorm(self.size, config["rms_norm_eps"])
        self.k_norm = nn.RMSNorm(self.size, config["rms_norm_eps"])

    def forward(
        self,
        x_BTD: Tensor,
        rotation: tuple[Tensor, Tensor],
        layer: int,
        cache: SlotCache | None,
        positions: CachePositions | None,
    ) -> Tensor:
        """The attention's output for each token, (B, T, D).

        Args:
            rotation: cosines and sines of the rotary angles.
            layer: index of this layer in the cache.
        """
        size_B, size_T, _ = x_BTD.shape
        q = self.q_norm(self.q_proj(x_BTD).view(size_B, size_T, self.heads, self.size)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x_BTD).view(size_B, size_T, self.key_heads, self.size)).transpose(1, 2)
        v = self.v_proj(x_BTD).view(size_B, size_T, self.key_heads, self.size).transpose(1, 2)
        q, k = _rotate(q, *rotation), _rotate(k, *rotation)
        if cache is None or positions is None:
            repeats = self.heads // self.key_heads
            k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
            out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            keys, values = cache.keys[layer], cache.values[layer]
            slots = positions.slots_B[:, None]
            keys[slots, :, positions.positions_BT] = k.transpose(1, 2).to(keys.dtype)
            values[slots, :, positions.positions_BT] = v.transpose(1, 2).to(values.dtype)
            k, v = keys[positions.slots_B, :, : positions.length], values[positions.slots_B, :, : positions.length]
            out = functional.scaled_dot_product_attention(
                q.to(k.dtype), k, v, attn_mask=positions.mask_B1TL, enable_gqa=True
            )
        return self.o_proj(out.transpose(1, 2).reshape(size_B, size_T, -1))  # type: ignore[no-any-return]


class GatedMLP(nn.Module):
    """The feed-forward part of a layer: gated linear units."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        hidden, intermediate = config["hidden_size"], config["intermediate_size"]
        self.gate_proj = nn.Linear(hidden, intermediate, bias=False)
        self.up_proj = nn.Linear(hidden, intermediate, bias=False)
        self.down_proj = nn.Linear(intermediate, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Transform hidden states, (..., D) to (..., D)."""
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))  # type: ignore[no-any-return]


class TransformerLayer(nn.Module):
    """Attention and feed-forward; `Nano.hidden` adds each to the residual stream."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = GatedMLP(config)
        self.input_layernorm = nn.RMSNorm(config["hidden_size"], config["rms_norm_eps"])
        self.post_attention_layernorm = nn.RMSNorm(config["hidden_size"], config["rms_norm_eps"])


class TransformerBody(nn.Module):
    """Embeddings, layers and the last norm. The output head shares its weights with the embeddings."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers = nn.ModuleList(TransformerLayer(config) for _ in range(config["num_hidden_layers"]))
        self.norm = nn.RMSNorm(config["hidden_size"], config["rms_norm_eps"])


class Nano(nn.Module):
    """A Qwen3 language model with tied embeddings."""

    rotations: Tensor
    """Cosines and sines of the rotary angles, (2, positions, head size)."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = dict(config)
        self.model = TransformerBody(config)
        size = config["head_dim"]
        theta = (config.get("rope_parameters") or config)["rope_theta"]
        frequencies = 1.0 / theta ** (torch.arange(0, size, 2).float() / size)
        angles = torch.arange(config["max_position_embeddings"]).float()[:, None] * frequencies[None]
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("rotations", torch.stack([angles.cos(), angles.sin()]), persistent=False)

    def initialize(self, generator: torch.Generator) -> None:
        """Draw random weights for a model that is to be trained from the beginning."""
        layers = self.config["num_hidden_layers"]
        for name, parameter in self.named_parameters():
            if parameter.dim() < 2:
                continue
            if "embed" in name:
                deviation = 0.02
            else:
                residual_scale = math.sqrt(2 * layers) if "o_proj" in name or "down_proj" in name else 1.0
                deviation = 1 / (math.sqrt(parameter.shape[1]) * residual_scale)
            nn.init.normal_(parameter, 0.0, deviation, generator=generator)

    def hidden(self, ids_BT: Tensor, cache: SlotCache | None = None, positions: CachePositions | None = None) -> Tensor:
        """Hidden states after the last norm, (B, T, D).

        With a cache, `ids_BT` are the new tokens of some slots; their keys and values are written into the cache.
        """
        cos, sin = self.rotations
        if positions is None:
            rotation = cos[: ids_BT.shape[1]][None, None], sin[: ids_BT.shape[1]][None, None]
        else:
            rotation = cos[positions.positions_BT][:, None], sin[positions.positions_BT][:, None]
        x_BTD = self.model.embed_tokens(ids_BT)
        for i, layer in enumerate(self.model.layers):
            assert isinstance(layer, TransformerLayer)
            x_BTD = x_BTD + layer.self_attn(layer.input_layernorm(x_BTD), rotation, i, cache, positions)
            x_BTD = x_BTD + layer.mlp(layer.post_attention_layernorm(x_BTD))
        return self.model.norm(x_BTD)  # type: ignore[no-any-return]

    def read(self, ids_BT: Tensor, cache: SlotCache, slots_B: Tensor, starts_B: Tensor) -> Tensor:
        """Read new tokens into slots of a cache, from the positions `starts_B` on; their hidden states, (B, T, D)."""
        positions_BT = starts_B[:, None] + torch.arange(ids_BT.shape[1], device=ids_BT.device)[None]
        length = int(positions_BT.max()) + 1
        cache.reserve(length, self.model.embed_tokens.weight)
        mask_B1TL = torch.arange(length, device=ids_BT.device)[None, None, None] <= positions_BT[:, None, :, None]
        return self.hidden(ids_BT, cache, CachePositions(slots_B, positions_BT, mask_B1TL, length))

    def logits(self, hidden: Tensor) -> Tensor:
        """The logits of the next token, (..., D) to (..., V)."""
        return functional.linear(hidden, self.model.embed_tokens.weight)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin
