"""The header of a file of weights, read without loading the weights."""

from __future__ import annotations

import json
import math
from pathlib import Path

from gem.errors import InvalidData

LONGEST_HEADER = 100 * 1024 * 1024
"""Bytes: the limit of the format itself."""


def parameters_in(file: Path) -> int:
    """Count the parameters in a safetensors file: the sum of the sizes of its tensors.

    The file begins with the length of its header, eight bytes from the lowest to the highest, and the header, which is
    JSON (https://github.com/huggingface/safetensors#format).

    Raises:
        InvalidData: if it is no such file.
    """
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if length > LONGEST_HEADER:
            raise InvalidData(f"{file.name} is no safetensors file: its header is too long.")
        text = stream.read(length)
    try:
        return sum(math.prod(tensor["shape"]) for name, tensor in json.loads(text).items() if name != "__metadata__")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidData(f"{file.name} is no safetensors file: its header cannot be read.") from error
