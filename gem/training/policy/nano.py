"""A small Qwen3 model with a forward pass of its own, which reads and writes a cache by slot.

Its parameters have the names that Hugging Face's `Qwen3ForCausalLM` uses, and its logits are equal: a folder written
here loads in `AutoModelForCausalLM` and the other way round. What its own forward pass buys is the cache: each episode
owns a slot, and a turn computes only what is new in it. Shapes in names: B sequences, T tokens, D hidden size, H heads,
K key heads, S size of a head, V vocabulary.

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
"""As `config.json` of a Hugging Face folder."""


def nano_config(vocabulary: int, *, hidden: int = 64, layers: int = 2, longest: int = 2048) -> dict[str, Any]:
    """The configuration of a nano model; 64 and 2 make 0.23 million parameters with 2,048 tokens."""
    heads = max(2, hidden // 32)
    return {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "vocab_size": vocabulary,
        "hidden_size": hidden,
        "intermediate_size": 3 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": max(1, heads // 2),
        "head_dim": hidden // heads,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "max_position_embeddings": longest,
        "attention_bias": False,
        "attention_dropout": 0.0,
        "tie_word_embeddings": True,
        "use_sliding_window": False,
        "pad_token_id": 0,
        "eos_token_id": 1,
        "torch_dtype": "float32",
    }


KEPT_AT_MOST = 16 * 1024
"""Bytes of keys and values of a token. Every slot has room for the longest sequence: with the 229 kB of Qwen3-0.6B a
hundred episodes would take more memory than a GPU has."""


def kept(config: Config) -> int:
    """Bytes of keys and values of a token, in float32."""
    return int(2 * 4 * config["num_hidden_layers"] * config["num_key_value_heads"] * config["head_dim"])


def is_supported(config: Config) -> bool:
    """Whether `Nano` computes what Hugging Face would for this configuration, and the slots of its cache are small."""
    rope = config.get("rope_parameters") or config.get("rope_scaling") or {}
    return (
        config.get("model_type") == "qwen3"
        and bool(config.get("tie_word_embeddings"))
        and not config.get("attention_bias")
        and not config.get("use_sliding_window")
        and config.get("hidden_act", "silu") == "silu"
        and rope.get("rope_type", "default") == "default"
        and {"num_hidden_layers", "num_key_value_heads", "head_dim"} <= config.keys()
        and kept(config) <= KEPT_AT_MOST
    )


class Cache:
    """Keys and values of the sequences in a number of slots; it grows with the longest of them."""

    def __init__(self, config: Config, slots: int, length: int = 128) -> None:
        self.slots = slots
        self.length = 0
        self.shape = config["num_key_value_heads"], config["head_dim"]
        self.layers = config["num_hidden_layers"]
        self.keys: list[Tensor] = []
        self.values: list[Tensor] = []
        self._first = length

    def reserve(self, length: int, like: Tensor) -> None:
        """Make room for sequences of `length` tokens, on the device and with the type of `like`."""
        if length <= self.length:
            return
        grown = max(length, 2 * self.length, self._first)
        for tensors in (self.keys, self.values):
            old, tensors[:] = list(tensors), []
            for i in range(self.layers):
                room = like.new_zeros((self.slots, self.shape[0], grown, self.shape[1]))
                if old:
                    room[:, :, : self.length] = old[i]
                tensors.append(room)
        self.length = grown


class Place(NamedTuple):
    """Where new tokens stand: which slots, at which positions, and what each may look at."""

    slots_B: Tensor  # noqa: N815
    positions_BT: Tensor  # noqa: N815
    mask_B1TL: Tensor  # noqa: N815
    length: int
    """How much of the cache is looked at."""


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
        self, x_BTD: Tensor, turns: tuple[Tensor, Tensor], layer: int, cache: Cache | None, place: Place | None
    ) -> Tensor:
        """What the tokens take from those before them, (B, T, D)."""
        size_B, size_T, _ = x_BTD.shape
        q = self.q_norm(self.q_proj(x_BTD).view(size_B, size_T, self.heads, self.size)).transpose(1, 2)
        k = self.k_norm(self.k_proj(x_BTD).view(size_B, size_T, self.key_heads, self.size)).transpose(1, 2)
        v = self.v_proj(x_BTD).view(size_B, size_T, self.key_heads, self.size).transpose(1, 2)
        q, k = _rotate(q, *turns), _rotate(k, *turns)
        if cache is None or place is None:
            repeats = self.heads // self.key_heads
            k, v = k.repeat_interleave(repeats, 1), v.repeat_interleave(repeats, 1)
            out = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            keys, values = cache.keys[layer], cache.values[layer]
            slots = place.slots_B[:, None]
            keys[slots, :, place.positions_BT] = k.transpose(1, 2).to(keys.dtype)
            values[slots, :, place.positions_BT] = v.transpose(1, 2).to(values.dtype)
            k, v = keys[place.slots_B, :, : place.length], values[place.slots_B, :, : place.length]
            out = functional.scaled_dot_product_attention(
                q.to(k.dtype), k, v, attn_mask=place.mask_B1TL, enable_gqa=True
            )
        return self.o_proj(out.transpose(1, 2).reshape(size_B, size_T, -1))  # type: ignore[no-any-return]


class GatedUnit(nn.Module):
    """The feed-forward part of a layer."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        hidden, wide = config["hidden_size"], config["intermediate_size"]
        self.gate_proj = nn.Linear(hidden, wide, bias=False)
        self.up_proj = nn.Linear(hidden, wide, bias=False)
        self.down_proj = nn.Linear(wide, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """(..., D) to (..., D)."""
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))  # type: ignore[no-any-return]


class Layer(nn.Module):
    """Attention and feed-forward, each around a residual."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = GatedUnit(config)
        self.input_layernorm = nn.RMSNorm(config["hidden_size"], config["rms_norm_eps"])
        self.post_attention_layernorm = nn.RMSNorm(config["hidden_size"], config["rms_norm_eps"])


class Body(nn.Module):
    """Everything but the way from hidden states to logits, which are the embeddings again."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(config["vocab_size"], config["hidden_size"])
        self.layers = nn.ModuleList(Layer(config) for _ in range(config["num_hidden_layers"]))
        self.norm = nn.RMSNorm(config["hidden_size"], config["rms_norm_eps"])


class Nano(nn.Module):
    """A Qwen3 language model with tied embeddings."""

    turns: Tensor

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = dict(config)
        self.model = Body(config)
        size = config["head_dim"]
        theta = (config.get("rope_parameters") or config)["rope_theta"]
        speeds = 1.0 / theta ** (torch.arange(0, size, 2).float() / size)
        angles = torch.arange(config["max_position_embeddings"]).float()[:, None] * speeds[None]
        angles = torch.cat([angles, angles], -1)
        self.register_buffer("turns", torch.stack([angles.cos(), angles.sin()]), persistent=False)

    def initialize(self, generator: torch.Generator) -> None:
        """Draw the weights of a model that has learned nothing."""
        layers = self.config["num_hidden_layers"]
        for name, parameter in self.named_parameters():
            if parameter.dim() < 2:
                continue
            if "embed" in name:
                deviation = 0.02
            else:
                narrowed = math.sqrt(2 * layers) if "o_proj" in name or "down_proj" in name else 1.0
                deviation = 1 / (math.sqrt(parameter.shape[1]) * narrowed)
            nn.init.normal_(parameter, 0.0, deviation, generator=generator)

    def hidden(self, ids_BT: Tensor, cache: Cache | None = None, place: Place | None = None) -> Tensor:
        """Hidden states after the last norm, (B, T, D).

        With a cache, `ids_BT` are the new tokens of some slots, which they are written into.
        """
        if place is None:
            cos, sin = self.turns[0, : ids_BT.shape[1]][None, None], self.turns[1, : ids_BT.shape[1]][None, None]
        else:
            cos, sin = self.turns[0, place.positions_BT][:, None], self.turns[1, place.positions_BT][:, None]
        x_BTD = self.model.embed_tokens(ids_BT)
        for i, layer in enumerate(self.model.layers):
            assert isinstance(layer, Layer)
            x_BTD = x_BTD + layer.self_attn(layer.input_layernorm(x_BTD), (cos, sin), i, cache, place)
            x_BTD = x_BTD + layer.mlp(layer.post_attention_layernorm(x_BTD))
        return self.model.norm(x_BTD)  # type: ignore[no-any-return]

    def logits(self, hidden: Tensor) -> Tensor:
        """(..., D) to (..., V)."""
        return functional.linear(hidden, self.model.embed_tokens.weight)


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin
