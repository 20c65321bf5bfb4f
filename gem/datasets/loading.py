"""Loads a dataset from a source.

A source is one of these:
    - rows: a list of dictionaries, or a sequence that can be read like one (a `datasets.Dataset`);
    - a file or folder: `problems.jsonl`, `Path("train.parquet")`;
    - `hub:owner/name`, `hub:owner/name@revision`: a dataset of the Hugging Face hub; `owner/name` too, if there is no
      such file or folder;
    - `sample:name`: a sample that comes with the engine;
    - an environment such as `math:GSM8K`: its file in the data folder, else what was fetched from the hub, else the
      hub if it answers, else the built-in sample. `GEM_DATA_FROM` can exclude some of these (see
      `folder.allowed_sources`).
"""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gem.datasets import hub
from gem.datasets.dataset import Dataset, from_rows
from gem.datasets.files import READERS, is_table, read
from gem.datasets.folder import allowed_sources, data_folder, is_inside, own_files
from gem.datasets.names import NAMED_DATASETS, NamedDataset
from gem.datasets.samples import sample
from gem.errors import DataUnavailable, InvalidArgument

logger = logging.getLogger(__name__)

HUB_NAME = re.compile(r"[\w.-]{1,96}/[\w.-]{1,96}", re.ASCII)
"""A dataset of the hub: its owner and its name."""
ONLY_SPLIT = "train"
"""What the split of a dataset is called that has only one."""
Source = str | Path | Sequence[Mapping[str, Any]]
_warned_ids: set[str] = set()
"""The environments for which this process has warned that they use a built-in sample."""


def load(source: Source, *, split: str = "", revision: str = "") -> Dataset:
    """Load the dataset that `source` names (see the module's documentation).

    Args:
        source: rows, a path, or a name.
        split: the split of a dataset of the hub that has several; not needed for an environment.
        revision: a commit, branch or tag of a dataset of the hub.

    Raises:
        DataUnavailable: if the data are not available; the message says what to do.
        InvalidData: if the data cannot be read.
        InvalidArgument: if `split` is given for data that have no splits, or are another one.
    """
    if isinstance(source, str):
        kind, _, name = source.partition(":")
        if kind == "hub":
            repository, _, pinned_revision = name.partition("@")
            return _load_from_hub(repository, split, revision or pinned_revision)
        path = Path(source).expanduser()
        if HUB_NAME.fullmatch(source) and not is_table(path) and not path.exists():
            return _load_from_hub(source, split, revision)
    _check_split(source, split)
    if isinstance(source, Dataset):
        return source
    if isinstance(source, Path):
        return _load_local(source)
    if not isinstance(source, str):
        return from_rows(source)
    if source in NAMED_DATASETS:
        return _load_named(source, NAMED_DATASETS[source])
    return sample(name) if kind == "sample" else _load_local(path)


def _check_split(source: object, split: str) -> None:
    """Check that data other than those of the hub are not asked for a split that they are not.

    Raises:
        InvalidArgument: if they are.
    """
    if not split:
        return
    if isinstance(source, str) and source in NAMED_DATASETS:
        named = NAMED_DATASETS[source]
        if split != (named.split or ONLY_SPLIT):
            raise InvalidArgument(
                f"{source} has the split {named.split or ONLY_SPLIT!r} of its dataset, not {split!r}. For another one, "
                f'name the dataset: dataset="hub:{named.repository}", split={split!r}.'
            )
        return
    what = repr(str(source)) if isinstance(source, str | Path) else "Rows in Python"
    raise InvalidArgument(
        f"{what:.120} cannot be asked for the split {split!r}: only datasets of the hub have splits. Give the file or "
        "the rows of the split alone."
    )


def _load_local(path: Path) -> Dataset:
    if allowed_sources() == "folder" and not is_inside(path):
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


def _load_from_hub(repository: str, split: str, revision: str) -> Dataset:
    dataset = hub.open_fetched(repository, split, revision)
    if dataset is not None:
        return dataset
    if allowed_sources() != "auto":
        raise DataUnavailable(f"{repository} is not fetched, and GEM_DATA_FROM keeps this process off the network.")
    return hub.fetch(repository, split, revision)


def _load_named(env_id: str, dataset: NamedDataset) -> Dataset:
    """The dataset of an environment, from the best source that is available."""
    allowed = allowed_sources()
    if allowed == "sample":
        return sample(dataset.sample)
    present_data = find_present_data(env_id)
    if present_data is not None:
        return present_data
    reason = "GEM_DATA_FROM keeps this process off the network"
    if allowed == "auto":
        try:
            return hub.fetch(dataset.repository, dataset.split)
        except DataUnavailable as error:
            reason = str(error)
    data = sample(dataset.sample)
    if env_id not in _warned_ids:  # only once for each process, because a vector makes the same environment many times
        _warned_ids.add(env_id)
        logger.warning(
            "%s plays on a built-in sample of %d problems, made by us and not taken from %s. %s",
            env_id, len(data), dataset.repository, reason,
        )  # fmt: skip
    return data


def find_present_data(env_id: str) -> Dataset | None:
    """The real data of an environment, if they are on this machine: the user's own file, or what was fetched."""
    files = own_files(env_id)
    if files:
        return read(files, "file", f"file {files[0].name}" if len(files) == 1 else f"folder {files[0].parent.name}")
    return hub.open_fetched(NAMED_DATASETS[env_id].repository, NAMED_DATASETS[env_id].split)
