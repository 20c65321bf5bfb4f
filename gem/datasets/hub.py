"""Fetches datasets of the Hugging Face hub into the data folder, with `huggingface_hub`.

The revision is pinned when a dataset is first fetched, until somebody fetches another revision, so a machine always
has the same rows. A broken download resumes where it stopped, and a fetch that was interrupted continues with the
missing files.
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

TIMEOUT_SECONDS = 3.0
"""Seconds after which a hub that does not answer counts as unreachable."""
RETRY_AFTER_SECONDS = 60.0
"""Seconds for which an unreachable hub is not contacted again."""
REPOSITORY_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
SPLIT_FILE_NAME = re.compile(r"(?P<split>[A-Za-z0-9_]+?)(?:-\d+-of-\d+)?\.\w+(?:\.gz)?")
"""The names of the files of a split on the hub: train-00000-of-00002.parquet, test.jsonl."""


class HubUnreachable(DataUnavailable):
    """The hub does not answer, or this process is not allowed to contact it."""


@dataclass(frozen=True, slots=True)
class PinnedRevision:
    """The revision of a repository that was fetched, and its files."""

    repository: str
    revision: str
    """The commit, as 40 hexadecimal digits."""
    splits: dict[str, list[str]]
    """Split to its files, as paths in the repository."""


def open_fetched(repository: str, split: str = "", revision: str = "") -> Dataset | None:
    """A split that has been fetched; None if it has not, or only in another revision."""
    pin = read_pin(repository)
    if pin is None or (revision and not pin.revision.startswith(revision)):
        return None
    split_name = split or (next(iter(pin.splits)) if len(pin.splits) == 1 else "")
    files = [_repository_folder(repository) / pin.revision / name for name in pin.splits.get(split_name, ())]
    if not files or not all(file.is_file() for file in files):
        return None
    return read(files, "hub", f"hub {repository}@{pin.revision[:12]}, {split_name}")


def fetch(repository: str, split: str = "", revision: str = "", report: Callable[[str], None] = logger.info) -> Dataset:
    """Fetch a split from the hub, pin its revision, and open it.

    Args:
        repository: `owner/name`.
        split: the name of the split; may be empty if the repository has only one.
        revision: a commit, branch or tag; by default the pinned revision, else the newest one.
        report: called with a sentence before a download.

    Raises:
        HubUnreachable: if the hub does not answer.
        DataUnavailable: if there is no such repository, revision or split, or reading it is not allowed.
    """
    pin = read_pin(repository)
    splits = pin.splits if pin is not None and (not revision or pin.revision.startswith(revision)) else {}
    commit, names = _list_files(repository, revision or (pin.revision if pin else ""))
    split_name, files = _select_files(repository, names, split)
    report(
        f"Fetching {len(files)} file{'s' * (len(files) != 1)} of {repository}, {split_name}, revision {commit[:12]}."
    )
    for name in files:
        _download(repository, commit, name)
    _write_pin(PinnedRevision(repository, commit, {**splits, split_name: files}))
    data = open_fetched(repository, split_name)
    assert data is not None
    return data


def read_pin(repository: str) -> PinnedRevision | None:
    """The pinned revision of a repository; None if it was never fetched."""
    if not REPOSITORY_NAME.fullmatch(repository):
        raise DataUnavailable(f"A dataset of the hub is named owner/name, not {repository!r}.")
    file = _repository_folder(repository) / "pinned.json"
    try:
        return PinnedRevision(**json.loads(file.read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise DataUnavailable(f"{file} is damaged ({error}); delete it and fetch {repository} again.") from error


def offline_reason() -> str:
    """Why the hub must not be contacted; empty if it may be."""
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE"):
        if os.environ.get(name, "").lower() in ("1", "true", "yes", "on"):
            return f"{name} is set"
    if importlib.util.find_spec("huggingface_hub") is None:
        return "the package huggingface-hub is missing: pip install huggingface-hub"
    return ""


def _repository_folder(repository: str) -> Path:
    return data_folder() / "hub" / repository


def _write_pin(pin: PinnedRevision) -> None:
    """Write the pinned revision atomically, since another process may read it at the same time."""
    file = _repository_folder(pin.repository) / "pinned.json"
    temporary = file.with_name(f"pinned.{os.getpid()}.{threading.get_ident()}.json")
    temporary.write_text(json.dumps(asdict(pin), indent=2) + "\n")
    temporary.replace(file)


def _select_files(repository: str, names: Sequence[str], split: str) -> tuple[str, list[str]]:
    """The name of the split to fetch, and its files."""
    splits: dict[str, list[str]] = {}
    for name in sorted(names):
        if is_table(Path(name)):
            splits.setdefault(_split_of(name), []).append(name)
    if not splits:
        raise DataUnavailable(
            f"The repository {repository} has no tables that can be read (Parquet, JSONL, CSV, Arrow)."
        )
    split_name = split or (next(iter(splits)) if len(splits) == 1 else "")
    if split_name not in splits:
        problem = f"has no split {split!r}" if split else "has several splits"
        raise DataUnavailable(f"The repository {repository} {problem}; choose one of {', '.join(splits)}.")
    return split_name, splits[split_name]


def _split_of(name: str) -> str:
    """The split of a file: `train` for data/train-00000-of-00002.parquet and for train/0000.parquet."""
    path = Path(name)
    match = SPLIT_FILE_NAME.fullmatch(path.name)
    stem = match["split"] if match else path.stem
    return path.parent.name if stem.isdigit() and path.parent.name else stem


def _list_files(repository: str, revision: str) -> tuple[str, list[str]]:
    """The commit and the file names of a revision.

    The request runs in a thread, because resolving a host name may take longer than any timeout of the client.
    """
    _check_reachable()
    client: Any = import_module("huggingface_hub")  # imported here because it imports a network client
    response: Future[Any] = Future()

    def ask() -> None:
        try:
            api = client.HfApi(endpoint=_endpoint())
            response.set_result(api.dataset_info(repository, revision=revision or None, timeout=TIMEOUT_SECONDS))
        except BaseException as error:  # noqa: BLE001 (the waiting thread raises it)
            response.set_exception(error)

    threading.Thread(target=ask, name="hub", daemon=True).start()
    with _translate_errors(repository):
        info = response.result(TIMEOUT_SECONDS)
    return str(info.sha), [file.rfilename for file in info.siblings or ()]


def _download(repository: str, revision: str, name: str) -> None:
    client: Any = import_module("huggingface_hub")
    folder = _repository_folder(repository) / revision
    folder.mkdir(parents=True, exist_ok=True)
    with _translate_errors(repository):
        client.hf_hub_download(
            repository, name, repo_type="dataset", revision=revision, local_dir=folder, endpoint=_endpoint()
        )


def _endpoint() -> str | None:
    return os.environ.get("HF_ENDPOINT") or None


def _check_reachable() -> None:
    """Raise `HubUnreachable` if the hub must not be contacted, or has just been unreachable."""
    reason = offline_reason()
    if (
        not reason
        and time.monotonic() - _unreachable_since.get(_endpoint(), -RETRY_AFTER_SECONDS) < RETRY_AFTER_SECONDS
    ):
        reason = "it did not answer a moment ago"
    if reason:
        raise HubUnreachable(f"The hub cannot be asked: {reason}.")


_unreachable_since: dict[str | None, float] = {}
"""Endpoint of a hub to the monotonic time at which it was last unreachable."""


@contextmanager
def _translate_errors(repository: str) -> Iterator[None]:
    """Translate the client's errors into our own, with a message that says what to do."""
    errors: Any = import_module("huggingface_hub.errors")
    try:
        yield
    except errors.GatedRepoError as error:
        raise DataUnavailable(f"{repository} is open to those who asked for it: do so, then hf auth login.") from error
    except errors.RepositoryNotFoundError as error:
        raise DataUnavailable(f"The hub has no dataset {repository}, or you may not read it.") from error
    except (errors.RevisionNotFoundError, errors.EntryNotFoundError) as error:
        raise DataUnavailable(f"{repository} has no such revision or file: {_first_line(error)}") from error
    except (
        OSError,
        TimeoutError,
        *errors.HfHubHTTPError.__bases__,
    ) as error:  # the HTTP client's own
        _unreachable_since[_endpoint()] = time.monotonic()
        raise HubUnreachable(
            f"The hub does not answer: {_first_line(error) or type(error).__name__}. Try again later, or put files of "
            "your own into the data folder; `gemweb data status` says what is played on meanwhile."
        ) from error


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
