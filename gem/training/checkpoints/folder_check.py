"""Whether a policy's folder may be loaded: what is in it, without loading anything. Needs no torch.

A checkpoint may come from somebody else. Weights in the safetensors format are numbers and names, and JSON is text;
neither can run. Pickles can, so a folder with one is refused whatever else it holds.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gem.errors import InvalidArgument

Model = TypeVar("Model", bound=BaseModel)

WEIGHTS, ADAPTER = "model.safetensors", "adapter_model.safetensors"
CARD = "card.json"
ALLOWED = (".json", ".safetensors", ".jinja", ".txt", ".md", ".model")
"""How the names of files may end."""
LONGEST_HEADER = 100_000_000
"""Bytes, as in the safetensors library."""
LONGEST_JSON = 64_000_000
ARCHITECTURES = (
    "cohere", "falcon", "gemma", "gemma2", "gemma3_text", "glm4", "gpt2", "gpt_neox", "granite", "helium", "llama",
    "ministral", "mistral", "mixtral", "olmo", "olmo2", "olmo3", "olmoe", "opt", "phi", "phi3", "qwen2", "qwen2_moe",
    "qwen3", "qwen3_moe", "smollm3", "stablelm", "starcoder2",
)  # fmt: skip
"""Types of models from strangers that are loaded: transformers has them itself, in plain PyTorch."""
OUTSIDE = {
    "auto_map", "custom_pipelines", "custom_generate", "quantization_config", "attn_implementation",
    "_attn_implementation", "_attn_implementation_internal", "experts_implementation", "_experts_implementation",
    "use_kernels", "kernel_config", "adapters",
}  # fmt: skip
"""Entries of a configuration that make transformers fetch or run something from outside the folder."""
SIZES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2,
    "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1,
}  # fmt: skip
"""Bytes of a number."""


class Card(BaseModel):
    """`card.json`: how a policy is to be played. Other entries say where it comes from."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    input_mode: Annotated[str, Field(pattern="^(transcript|markov)$")] = "transcript"
    max_tokens: int = Field(default=64, ge=1, le=32768)
    max_length: int = Field(default=1024, ge=32, le=131072)
    temperature: float = Field(default=1.0, ge=0, le=5)
    env_id: Annotated[str, Field(max_length=120, pattern=r"^[^\x00-\x1f]*$")] = ""
    recipe: Annotated[str, Field(max_length=80, pattern=r"^[^\x00-\x1f]*$")] = ""
    update: int = Field(default=0, ge=0, le=2**53)


class _Config(BaseModel):
    """The part of `config.json` that decides how much memory a model takes."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model_type: Annotated[str, Field(pattern=r"^[a-z0-9_\-]{1,64}$")]
    vocab_size: int = Field(default=1, ge=1, le=1_000_000)
    hidden_size: int = Field(default=1, ge=1, le=65_536)
    num_hidden_layers: int = Field(default=1, ge=1, le=512)
    max_position_embeddings: int = Field(default=1, ge=1, le=10_000_000)


class _Tensor(BaseModel):
    model_config = ConfigDict(strict=True)

    dtype: str
    shape: list[Annotated[int, Field(ge=0)]]
    data_offsets: tuple[int, int] = Field(strict=False)


def check_folder(folder: Path) -> Card:
    """What a policy's card says, once all its files have been looked at.

    Raises:
        InvalidArgument: with what is wrong with the folder, in a sentence.
    """
    if not folder.is_dir():
        raise InvalidArgument(f"{folder} is no folder.")
    for path in sorted(folder.iterdir()):
        if path.is_symlink() or not path.is_file():
            raise InvalidArgument(f"{path.name} is no plain file: a policy's folder holds nothing else.")
        if path.suffix not in ALLOWED:
            raise InvalidArgument(
                f"{path.name} is refused: files of this kind can hold programs. A policy's folder holds safetensors "
                "and JSON."
            )
    config = _checked(_Config, _object(folder / "config.json"), "config.json") if _has(folder, "config.json") else None
    if _has(folder, WEIGHTS):
        check_weights(folder / WEIGHTS)
        if config is None:
            raise InvalidArgument("config.json is missing: it says what kind of model the weights belong to.")
    elif _has(folder, ADAPTER):
        check_weights(folder / ADAPTER)
        _object(folder / "adapter_config.json")
    else:
        raise InvalidArgument(f"{WEIGHTS} is missing: the weights of a policy, in the safetensors format.")
    return _checked(Card, _object(folder / CARD) if _has(folder, CARD) else {}, CARD)


def check_alone(folder: Path) -> None:
    """Return if a folder that passed `check_folder` asks for nothing outside of itself: no programs, no other model.

    Raises:
        InvalidArgument: with what it asks for, in a sentence.
    """
    config = _object(folder / "config.json")
    if config["model_type"] not in ARCHITECTURES:
        raise InvalidArgument(
            f"config.json: a model of the type {config['model_type']!r} is not loaded here. "
            f"These are: {', '.join(ARCHITECTURES)}."
        )
    if not _has(folder, "tokenizer.json"):
        raise InvalidArgument("tokenizer.json is missing: save the tokenizer beside the weights.")
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        asked = sorted(OUTSIDE & set(_object(folder / name))) if _has(folder, name) else []
        if asked:
            raise InvalidArgument(
                f"{name} has the entry {asked[0]}, which asks for programs from elsewhere. Remove it, and save the "
                "weights in an ordinary type of number."
            )


def check_weights(path: Path) -> None:
    """Look whether a file is in the safetensors format, from its header to its length.

    Raises:
        InvalidArgument: if it is not.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else LONGEST_HEADER + 1
        if length > min(LONGEST_HEADER, size - 8):
            raise InvalidArgument(f"{path.name} is not in the safetensors format.")
        try:
            header = json.loads(file.read(length))
        except ValueError as error:
            raise InvalidArgument(f"{path.name} is not in the safetensors format: its header is no JSON.") from error
    if not isinstance(header, dict):
        raise InvalidArgument(f"{path.name} is not in the safetensors format: its header names no tensors.")
    header.pop("__metadata__", None)
    end = 0
    tensors = {name: _checked(_Tensor, entry, f"{path.name}, {name}") for name, entry in header.items()}
    for name, tensor in sorted(tensors.items(), key=lambda entry: entry[1].data_offsets):
        first, last = tensor.data_offsets
        wanted = math.prod(tensor.shape) * SIZES.get(tensor.dtype, -1)
        if first != end or last - first != wanted:
            raise InvalidArgument(f"{path.name} is damaged: the place of {name} is not what its shape needs.")
        end = last
    if size != 8 + length + end:
        raise InvalidArgument(f"{path.name} is damaged: it has {size} bytes and should have {8 + length + end}.")


def _has(folder: Path, name: str) -> bool:
    return (folder / name).is_file()


def _object(path: Path) -> Mapping[str, Any]:
    try:
        if path.stat().st_size > LONGEST_JSON:
            raise InvalidArgument(f"{path.name} is too long.")
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"{path.name} is missing.") from error
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"{path.name} is not JSON.") from error
    if not isinstance(data, dict):
        raise InvalidArgument(f"{path.name} is no JSON object.")
    return data


def _checked(model: type[Model], data: Any, where: str) -> Model:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InvalidArgument(f"{where}: {place}: {first['msg'].lower()}.") from error
