"""The data folder: your own files, and files that were fetched from the hub.

    <folder>/math/GSM8K.jsonl                      your own file for `math:GSM8K`, in any format that can be read
    <folder>/math/Geometry3K/part-1.parquet ...    or several files
    <folder>/hub/axon-rl/GSM-8k/pinned.json        the revision that was fetched, and its files

The environment variable `GEM_DATA` names the folder. By default it is `gemweb/data` in the user's cache folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast, get_args

from gem.datasets.files import is_table
from gem.errors import InvalidArgument

AllowedSources = Literal["auto", "folder", "sample"]


def data_folder() -> Path:
    """The path of the data folder, which need not exist."""
    folder = os.environ.get("GEM_DATA")
    if folder:
        return Path(folder).expanduser()
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "gemweb" / "data"


def allowed_sources() -> AllowedSources:
    """The sources that data may come from, as set by the environment variable `GEM_DATA_FROM`.

    "auto" uses the data folder, else the hub, else the built-in sample. "folder" does the same without the network, and
    reads no file outside the data folder. "sample" gives environments their built-in samples; named files are read.

    Raises:
        InvalidArgument: if the variable has another value.
    """
    value = os.environ.get("GEM_DATA_FROM") or "auto"
    if value not in get_args(AllowedSources):
        raise InvalidArgument(f"GEM_DATA_FROM is {value!r}; it must be {', '.join(get_args(AllowedSources))}.")
    return cast("AllowedSources", value)


def own_files(name: str) -> Sequence[Path]:
    """The user's own files for the environment `name` in the data folder; empty if there are none."""
    category, _, title = name.partition(":")
    folder = data_folder() / category
    if (folder / title).is_dir():
        return sorted(path for path in (folder / title).iterdir() if is_table(path))
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if is_table(path) and _stem(path) == title)[:1]


def is_inside(path: Path) -> bool:
    """Whether a file is in the data folder after following symbolic links."""
    return path.resolve().is_relative_to(data_folder().resolve())


def _stem(path: Path) -> str:
    name = path.name
    if name.lower().endswith(".gz"):
        name = name[:-3]
    return Path(name).stem
