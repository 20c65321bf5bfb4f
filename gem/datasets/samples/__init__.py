"""Small built-in samples, used where a dataset is not available. We wrote them and did not take them from datasets.

`python -m tools.samples` generates the files.
"""

from __future__ import annotations

from pathlib import Path

from gem.datasets.dataset import Dataset
from gem.datasets.files import read
from gem.datasets.ruletaker import DEPTHS, worlds
from gem.errors import DataUnavailable

FOLDER = Path(__file__).parent


def names() -> list[str]:
    """The names of all samples."""
    return sorted([*(path.stem for path in FOLDER.glob("*.jsonl")), *(f"ruletaker-d{depth}" for depth in DEPTHS)])


def sample(name: str) -> Dataset:
    """The built-in sample of this name.

    Raises:
        DataUnavailable: if there is none; the message lists the existing ones.
    """
    prefix, _, depth = name.partition("ruletaker-d")
    if not prefix and depth.isdigit() and int(depth) in DEPTHS:
        return worlds(int(depth))
    path = FOLDER / f"{name}.jsonl"
    if not path.is_file():
        raise DataUnavailable(f"There is no built-in sample {name!r}; there are {', '.join(names())}.")
    return read([path], "sample", f"built-in sample {name}")
