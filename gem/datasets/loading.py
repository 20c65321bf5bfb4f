"""From what somebody names to rows.

What may be named:
    - rows themselves: a list of dictionaries, or anything that is read like one (a `datasets.Dataset`);
    - a file or folder: `problems.jsonl`, `Path("train.parquet")`;
    - `hub:owner/name`, `hub:owner/name@revision`: a dataset of the Hugging Face hub;
    - `sample:name`: a sample that comes with the engine;
    - an environment such as `math:GSM8K`: its file in the data folder, else what was fetched from the hub, else the
      hub if it answers, else the built-in sample. `GEM_DATA_FROM` leaves out some of these (see `folder.where`).
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gem.datasets import hub
from gem.datasets.dataset import Dataset, of_rows
from gem.datasets.files import READERS, is_table, read
from gem.datasets.folder import data_folder, is_inside, own_files, where
from gem.datasets.names import NAMED, Named
from gem.datasets.samples import sample
from gem.errors import DataUnavailable

logger = logging.getLogger(__name__)

Source = str | Path | Sequence[Mapping[str, Any]]
_told: set[str] = set()


def load(source: Source, *, split: str = "", revision: str = "") -> Dataset:
    """The rows that `source` names (see the module).

    Args:
        split: of a dataset of the hub, where it has several; of an environment it is known.
        revision: of a dataset of the hub: a commit, branch or tag.

    Raises:
        DataUnavailable: if they cannot be had; the message says what to do.
        InvalidData: if they are not what they should be.
    """
    if isinstance(source, Dataset):
        return source
    if isinstance(source, Path):
        return _local(source)
    if not isinstance(source, str):
        return of_rows(source)
    if source in NAMED:
        return _named(source, NAMED[source])
    kind, _, rest = source.partition(":")
    if kind == "hub":
        repository, _, named = rest.partition("@")
        return _from_hub(repository, split, revision or named)
    if kind == "sample":
        return sample(rest)
    return _local(Path(source).expanduser())


def _local(path: Path) -> Dataset:
    if where() == "folder" and not is_inside(path):
        raise DataUnavailable(
            f"With GEM_DATA_FROM=folder, this process reads files of the data folder alone; put {path.name} into "
            f"{data_folder()}."
        )
    if path.is_dir():
        files = sorted(file for file in path.iterdir() if is_table(file))
        if not files:
            raise DataUnavailable(f"The folder {path} holds no table ({', '.join(READERS)}).")
        return read(files, "file", f"folder {path.name}")
    if not path.exists() and not is_table(path):
        raise DataUnavailable(
            f"{str(path)!r} is no file, and no name of data: give rows, a file, hub:owner/name, sample:name or an "
            "environment such as math:GSM8K. gemweb data status lists those."
        )
    return read([path], "file", f"file {path.name}")


def _from_hub(repository: str, split: str, revision: str) -> Dataset:
    fetched = hub.opened(repository, split, revision)
    if fetched is not None:
        return fetched
    if where() != "auto":
        raise DataUnavailable(f"{repository} is not fetched, and GEM_DATA_FROM keeps this process off the network.")
    return hub.fetch(repository, split, revision)


def _named(env_id: str, named: Named) -> Dataset:
    """The best that there is of the data of an environment."""
    allowed = where()
    if allowed == "sample":
        return sample(named.sample)
    present = present_data(env_id)
    if present is not None:
        return present
    reason = "GEM_DATA_FROM keeps this process off the network"
    if allowed == "auto":
        try:
            return hub.fetch(named.repository, named.split)
        except DataUnavailable as error:
            reason = str(error)
    data = sample(named.sample)
    if env_id not in _told:  # once for each process: vectors make hundreds of one environment
        _told.add(env_id)
        logger.warning(
            "%s plays on a built-in sample of %d problems, made by us and not taken from %s. %s",
            env_id, len(data), named.repository, reason,
        )  # fmt: skip
    return data


def present_data(env_id: str) -> Dataset | None:
    """The real data of an environment as far as it is on this machine: your own file, or what was fetched."""
    files = own_files(env_id)
    if files:
        return read(files, "file", f"file {files[0].name}" if len(files) == 1 else f"folder {files[0].parent.name}")
    return hub.opened(NAMED[env_id].repository, NAMED[env_id].split)
