"""Datasets of the Hugging Face hub, fetched into the data folder through `huggingface_hub`.

The revision is pinned when a dataset is first fetched and kept until somebody fetches another one, so the same
machine always has the same rows. A connection that breaks is taken up where it broke; a fetch that was ended goes on
with the files that are not there yet.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from gem.datasets.dataset import Dataset
from gem.datasets.files import is_table, read
from gem.datasets.folder import data_folder
from gem.errors import DataUnavailable

logger = logging.getLogger(__name__)

PATIENCE = 3.0
"""Seconds until a hub that does not answer counts as out of reach."""
AGAIN_SECONDS = 60.0
"""A hub that was out of reach is asked again after so long."""
NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
SPLIT = re.compile(r"(?P<split>[A-Za-z0-9_]+?)(?:-\d+-of-\d+)?\.\w+(?:\.gz)?")
"""How the hub names the files of a split: train-00000-of-00002.parquet, test.jsonl."""


class OutOfReach(DataUnavailable):
    """The hub does not answer, or may not be asked."""


@dataclass(frozen=True, slots=True)
class Pinned:
    """What was fetched of a repository."""

    repository: str
    revision: str
    """The commit, 40 hexadecimal digits."""
    splits: dict[str, list[str]]
    """Split to its files, as paths in the repository."""


def opened(repository: str, split: str = "", revision: str = "") -> Dataset | None:
    """A split that was fetched before; None if it was not, or of another revision."""
    pin = pinned(repository)
    if pin is None or (revision and not pin.revision.startswith(revision)):
        return None
    wanted = split or (next(iter(pin.splits)) if len(pin.splits) == 1 else "")
    files = [_place(repository) / pin.revision / name for name in pin.splits.get(wanted, ())]
    if not files or not all(file.is_file() for file in files):
        return None
    return read(files, "hub", f"hub {repository}@{pin.revision[:12]}, {wanted}")


def fetch(repository: str, split: str = "", revision: str = "", tell: Callable[[str], None] = logger.info) -> Dataset:
    """Fetch a split from the hub, pin its revision, and open it.

    Args:
        repository: `owner/name`.
        split: empty where the repository has only one.
        revision: a commit, branch or tag; without one, that which is pinned, else the newest.
        tell: is called with a sentence before a download.

    Raises:
        OutOfReach: if the hub does not answer.
        DataUnavailable: if there is no such repository, revision or split, or it may not be read.
    """
    pin = pinned(repository)
    known = pin.splits if pin is not None and (not revision or pin.revision.startswith(revision)) else {}
    commit, names = _listed(repository, revision or (pin.revision if pin else ""))
    wanted, files = _files_of(repository, names, split)
    tell(f"Fetching {len(files)} file{'s' * (len(files) != 1)} of {repository}, {wanted}, revision {commit[:12]}.")
    for name in files:
        _download(repository, commit, name)
    _pin(Pinned(repository, commit, {**known, wanted: files}))
    data = opened(repository, wanted)
    assert data is not None
    return data


def pinned(repository: str) -> Pinned | None:
    """What is pinned of a repository, if anything is."""
    if not NAME.fullmatch(repository):
        raise DataUnavailable(f"A dataset of the hub is named owner/name, not {repository!r}.")
    file = _place(repository) / "pinned.json"
    try:
        return Pinned(**json.loads(file.read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise DataUnavailable(f"{file} is damaged ({error}); delete it and fetch {repository} again.") from error


def forbidden() -> str:
    """Why the hub may not be asked; empty if it may."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        if os.environ.get(name, "").lower() in ("1", "true", "yes", "on"):
            return f"{name} is set"
    if importlib.util.find_spec("huggingface_hub") is None:
        return "the package huggingface-hub is missing: pip install huggingface-hub"
    return ""


def _place(repository: str) -> Path:
    return data_folder() / "hub" / repository


def _pin(pin: Pinned) -> None:
    """Write it down in one piece: another process may read at the same time."""
    file = _place(pin.repository) / "pinned.json"
    fresh = file.with_name(f"pinned.{os.getpid()}.{threading.get_ident()}.json")
    fresh.write_text(json.dumps(asdict(pin), indent=2) + "\n")
    fresh.replace(file)


def _files_of(repository: str, names: Sequence[str], split: str) -> tuple[str, list[str]]:
    """The split that is meant, and its files."""
    splits: dict[str, list[str]] = {}
    for name in sorted(names):
        if is_table(Path(name)):
            splits.setdefault(_split_of(name), []).append(name)
    if not splits:
        raise DataUnavailable(
            f"The repository {repository} has no tables that can be read (Parquet, JSONL, CSV, Arrow)."
        )
    wanted = split or (next(iter(splits)) if len(splits) == 1 else "")
    if wanted not in splits:
        asked = f"has no split {split!r}" if split else "has several splits"
        raise DataUnavailable(f"The repository {repository} {asked}; choose one of {', '.join(splits)}.")
    return wanted, splits[wanted]


def _split_of(name: str) -> str:
    """`train` of data/train-00000-of-00002.parquet and of train/0000.parquet."""
    path = Path(name)
    found = SPLIT.fullmatch(path.name)
    stem = found["split"] if found else path.stem
    return path.parent.name if stem.isdigit() and path.parent.name else stem


def _listed(repository: str, revision: str) -> tuple[str, list[str]]:
    """Commit and file names of a revision.

    A thread asks, because looking up a name may take longer than any time limit of the client.
    """
    _check_reach()
    client: Any = import_module("huggingface_hub")  # here because it imports a network client
    answer: Future[Any] = Future()

    def ask() -> None:
        try:
            api = client.HfApi(endpoint=_endpoint())
            answer.set_result(api.dataset_info(repository, revision=revision or None, timeout=PATIENCE))
        except BaseException as error:  # noqa: BLE001 (whoever waits raises it)
            answer.set_exception(error)

    threading.Thread(target=ask, name="hub", daemon=True).start()
    with _said_clearly(repository):
        found = answer.result(PATIENCE)
    return str(found.sha), [file.rfilename for file in found.siblings or ()]


def _download(repository: str, revision: str, name: str) -> None:
    client: Any = import_module("huggingface_hub")
    place = _place(repository) / revision
    place.mkdir(parents=True, exist_ok=True)
    with _said_clearly(repository):
        client.hf_hub_download(
            repository, name, repo_type="dataset", revision=revision, local_dir=place, endpoint=_endpoint()
        )


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


def _check_reach() -> None:
    """Do not wait again for a hub that has just been out of reach."""
    reason = forbidden()
    if not reason and time.monotonic() - _unreached.get(_endpoint(), -AGAIN_SECONDS) < AGAIN_SECONDS:
        reason = "it did not answer a moment ago"
    if reason:
        raise OutOfReach(f"The hub cannot be asked: {reason}.")


_unreached: dict[str | None, float] = {}
"""Hub to when it was last out of reach."""


@contextmanager
def _said_clearly(repository: str) -> Iterator[None]:
    """Turn what the client raises into what to do about it."""
    errors: Any = import_module("huggingface_hub.errors")
    try:
        yield
    except errors.GatedRepoError as error:
        raise DataUnavailable(f"{repository} is open to those who asked for it: do so, then hf auth login.") from error
    except errors.RepositoryNotFoundError as error:
        raise DataUnavailable(f"The hub has no dataset {repository}, or you may not read it.") from error
    except (errors.RevisionNotFoundError, errors.EntryNotFoundError) as error:
        raise DataUnavailable(f"{repository} has no such revision or file: {_first_line(error)}") from error
    except (OSError, TimeoutError, *errors.HfHubHTTPError.__bases__) as error:  # its base is the HTTP client's own
        _unreached[_endpoint()] = time.monotonic()
        raise OutOfReach(
            f"The hub does not answer: {_first_line(error) or type(error).__name__}. Try again later, or put files of "
            "your own into the data folder; `gemweb data status` says what is played on meanwhile."
        ) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
