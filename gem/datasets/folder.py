"""The data folder: files that you put there, and what was fetched from the hub.

    <folder>/math/GSM8K.jsonl                      your own file for `math:GSM8K`, any ending that can be read
    <folder>/math/Geometry3K/part-1.parquet ...    or several files
    <folder>/hub/axon-rl/GSM-8k/pinned.json        which revision was fetched, with its files

`GEM_DATA` names the folder; without it, it is `gemweb/data` in the user's cache folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast, get_args

from gem.datasets.files import is_table
from gem.errors import InvalidArgument

Where = Literal["auto", "folder", "sample"]


def data_folder() -> Path:
    """The folder; it need not exist."""
    named = os.environ.get("GEM_DATA")
    if named:
        return Path(named).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "gemweb" / "data"


def where() -> Where:
    """Where data may come from, by `GEM_DATA_FROM`.

    "auto": the data folder, else the hub, else the built-in sample. "folder": the same without the network, and
    no file outside the folder. "sample": environments have their built-in samples; files that are named are read.

    Raises:
        InvalidArgument: if the variable is none of these.
    """
    named = os.environ.get("GEM_DATA_FROM") or "auto"
    if named not in get_args(Where):
        raise InvalidArgument(f"GEM_DATA_FROM is {named!r}; it must be {', '.join(get_args(Where))}.")
    return cast("Where", named)


def own_files(name: str) -> Sequence[Path]:
    """The files that somebody put into the folder for the environment `name`; empty if there is none."""
    category, _, title = name.partition(":")
    place = data_folder() / category
    if (place / title).is_dir():
        return sorted(path for path in (place / title).iterdir() if is_table(path))
    if not place.is_dir():
        return []
    return sorted(path for path in place.iterdir() if is_table(path) and _stem(path) == title)[:1]


def is_inside(path: Path) -> bool:
    """Whether a file lies in the data folder, symbolic links followed."""
    return path.resolve().is_relative_to(data_folder().resolve())


def _stem(path: Path) -> str:
    name = path.name
    if name.lower().endswith(".gz"):
        name = name[:-3]
    return Path(name).stem
