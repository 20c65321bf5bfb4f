"""Whether a policy's folder may be loaded, judged by its files without loading them. Needs no torch.

A checkpoint may come from somebody else. The safetensors format holds numbers and names, and JSON is data; neither can
contain a program. Pickles can, so a folder with a pickle is refused.
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
from gem.training.checkpoints.size_check import Shapes, check_sizes

Model = TypeVar("Model", bound=BaseModel)

WEIGHTS, ADAPTER = "model.safetensors", "adapter_model.safetensors"
CARD = "card.json"
ALLOWED = (".json", ".safetensors", ".jinja", ".txt", ".md", ".model")
"""Endings that files may have."""
MAX_HEADER_BYTES = 16_000_000
"""Size limit of a safetensors header, enough for a hundred thousand tensors."""
MAX_JSON_BYTES = 64_000_000
ARCHITECTURES = (
    "cohere", "falcon", "gemma", "gemma2", "gemma3_text", "glm4", "gpt2", "gpt_neox", "granite", "helium", "llama",
    "ministral", "mistral", "mixtral", "olmo", "olmo2", "olmo3", "olmoe", "opt", "phi", "phi3", "qwen2", "qwen2_moe",
    "qwen3", "qwen3_moe", "smollm3", "stablelm", "starcoder2",
)  # fmt: skip
"""Types of uploaded models that are loaded: transformers itself implements them, in plain PyTorch."""
EXTERNAL_ENTRIES = {
    "auto_map", "custom_pipelines", "custom_generate", "quantization_config", "attn_implementation",
    "_attn_implementation", "_attn_implementation_internal", "experts_implementation", "_experts_implementation",
    "use_kernels", "kernel_config", "adapters",
}  # fmt: skip
"""Entries of a configuration that make transformers fetch or run something from outside the folder."""
DTYPE_BYTES = {
    "F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U64": 8, "U32": 4, "U16": 2,
    "U8": 1, "BOOL": 1, "F8_E4M3": 1, "F8_E5M2": 1,
}  # fmt: skip
"""Size in bytes of a number of each type."""


class Card(BaseModel):
    """The part of `card.json` that tells how a policy is played. Other entries describe where it comes from."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    input_mode: Annotated[str, Field(pattern="^(transcript|markov)$")] = "transcript"
    max_tokens: int = Field(default=64, ge=1, le=32768)
    max_length: int = Field(default=1024, ge=32, le=131072)
    temperature: float = Field(default=1.0, ge=0, le=5)
    env_id: Annotated[str, Field(max_length=120, pattern=r"^[^\x00-\x1f]*$")] = ""
    recipe: Annotated[str, Field(max_length=80, pattern=r"^[^\x00-\x1f]*$")] = ""
    update: int = Field(default=0, ge=0, le=2**53)


class _ModelConfig(BaseModel):
    """The part of `config.json` that determines how much memory a model takes."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model_type: Annotated[str, Field(pattern=r"^[a-z0-9_\-]{1,64}$")]
    vocab_size: int = Field(default=1, ge=1, le=1_000_000)
    hidden_size: int = Field(default=1, ge=1, le=65_536)
    num_hidden_layers: int = Field(default=1, ge=1, le=512)
    max_position_embeddings: int = Field(default=1, ge=1, le=10_000_000)


class _TensorEntry(BaseModel):
    """A tensor in the header of a safetensors file."""

    model_config = ConfigDict(strict=True)

    dtype: str
    shape: Annotated[list[Annotated[int, Field(ge=0, le=2**48)]], Field(max_length=8)]
    data_offsets: tuple[int, int] = Field(strict=False)


def check_folder(folder: Path) -> Card:
    """Check all files of a policy's folder, and return its card.

    Raises:
        InvalidArgument: if the folder is refused, with the reason in a sentence.
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
    has_config = _has(folder, "config.json")
    if has_config:
        _validate(_ModelConfig, _read_object(folder / "config.json"), "config.json")
    if _has(folder, WEIGHTS):
        check_weights(folder / WEIGHTS)
        if not has_config:
            raise InvalidArgument("config.json is missing: it says what kind of model the weights belong to.")
    elif _has(folder, ADAPTER):
        check_weights(folder / ADAPTER)
        _read_object(folder / "adapter_config.json")
    else:
        raise InvalidArgument(f"{WEIGHTS} is missing: the weights of a policy, in the safetensors format.")
    return _validate(Card, _read_object(folder / CARD) if _has(folder, CARD) else {}, CARD)


def check_self_contained(folder: Path) -> None:
    """Check that a folder that passed `check_folder` is of a plain model that needs nothing else: no program, no other
    model, and no more memory than its weights are large.

    Raises:
        InvalidArgument: if it is not, with the entry in a sentence.
    """
    config = _read_object(folder / "config.json")
    if config["model_type"] not in ARCHITECTURES:
        raise InvalidArgument(
            f"config.json: a model of the type {config['model_type']!r} is not loaded here. "
            f"These are: {', '.join(ARCHITECTURES)}."
        )
    if not _has(folder, "tokenizer.json"):
        raise InvalidArgument("tokenizer.json is missing: save the tokenizer beside the weights.")
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        external = sorted(EXTERNAL_ENTRIES & set(_read_object(folder / name))) if _has(folder, name) else []
        if external:
            raise InvalidArgument(
                f"{name} has the entry {external[0]}, which asks for programs from elsewhere. Remove it, and save the "
                "weights in an ordinary type of number."
            )
    for path in sorted(folder.glob("*.json")):
        _read_object(path)
    check_sizes(config, check_weights(folder / WEIGHTS))


def check_weights(path: Path) -> Shapes:
    """Check that a file is in the safetensors format, from its header to its size, and return the shapes in it.

    Raises:
        InvalidArgument: if it is not.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        prefix = file.read(8)
        header_bytes = struct.unpack("<Q", prefix)[0] if len(prefix) == 8 else MAX_HEADER_BYTES + 1
        if header_bytes > min(MAX_HEADER_BYTES, size - 8):
            raise InvalidArgument(f"{path.name} is not in the safetensors format.")
        try:
            header = json.loads(file.read(header_bytes))
        except (ValueError, RecursionError) as error:
            raise InvalidArgument(f"{path.name} is not in the safetensors format: its header is no JSON.") from error
    if not isinstance(header, dict):
        raise InvalidArgument(f"{path.name} is not in the safetensors format: its header names no tensors.")
    header.pop("__metadata__", None)
    end = 0
    tensors = {name: _validate(_TensorEntry, entry, f"{path.name}, {name}") for name, entry in header.items()}
    for name, tensor in sorted(tensors.items(), key=lambda item: item[1].data_offsets):
        first, last = tensor.data_offsets
        tensor_bytes = math.prod(tensor.shape) * DTYPE_BYTES.get(tensor.dtype, -1)
        if first != end or last - first != tensor_bytes:
            raise InvalidArgument(f"{path.name} is damaged: the place of {name} is not what its shape needs.")
        end = last
    expected_size = 8 + header_bytes + end
    if size != expected_size:
        raise InvalidArgument(f"{path.name} is damaged: it has {size} bytes and should have {expected_size}.")
    return {name: tensor.shape for name, tensor in tensors.items()}


def _has(folder: Path, name: str) -> bool:
    return (folder / name).is_file()


def _read_object(path: Path) -> Mapping[str, Any]:
    """The JSON object in a file.

    Raises:
        InvalidArgument: if there is none.
    """
    try:
        if path.stat().st_size > MAX_JSON_BYTES:
            raise InvalidArgument(f"{path.name} is too long.")
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InvalidArgument(f"{path.name} is missing.") from error
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"{path.name} is not JSON.") from error
    if not isinstance(data, dict):
        raise InvalidArgument(f"{path.name} is no JSON object.")
    return data


def _validate(model: type[Model], data: Any, source: str) -> Model:
    """The data as a model.

    Raises:
        InvalidArgument: if they are not valid; the message names `source` and the first invalid field.
    """
    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(map(str, first["loc"]))
        raise InvalidArgument(f"{source}: {field}: {first['msg'].lower()}.") from error
