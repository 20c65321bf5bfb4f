"""What a file of weights says of itself, without being loaded."""

import json
from pathlib import Path

import pytest

from gem.errors import InvalidData
from gem.training.checkpoints.weights_file import parameters_in


def written(folder: Path, header: bytes, length: int | None = None) -> Path:
    file = folder / "model.safetensors"
    file.write_bytes((len(header) if length is None else length).to_bytes(8, "little") + header)
    return file


def test_parameters_are_counted_from_the_shapes(tmp_path: Path) -> None:
    header = {"__metadata__": {"format": "pt"}, "a": {"shape": [3, 4]}, "b": {"shape": []}, "c": {"shape": [0, 7]}}
    assert parameters_in(written(tmp_path, json.dumps(header).encode())) == 13


@pytest.mark.parametrize("header", [b"", b"[]", b'{"a": 1}', b'{"a": {}}', b"\xff", b'{"a": {"shape": ["x"]}}'])
def test_what_is_no_such_file_is_refused(tmp_path: Path, header: bytes) -> None:
    with pytest.raises(InvalidData):
        parameters_in(written(tmp_path, header))


def test_a_header_that_says_it_is_endless_is_not_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidData, match="too long"):
        parameters_in(written(tmp_path, b"{}", 2**60))
