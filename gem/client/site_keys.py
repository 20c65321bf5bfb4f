"""The keys of a site: fetched over HTTPS, and pinned so that later checks need no network.

Pinned keys are in `gemweb/keys.json`, beside the credentials (see `gem.net.credentials`).
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, ValidationError

from gem.client.errors import UnexpectedAnswer
from gem.client.transport import TIMEOUT_SECONDS, Runner
from gem.errors import InvalidData, UsageError
from gem.net.credentials import credentials_path, normalize, sends_in_clear
from gem.verification.keys import WELL_KNOWN, SiteKeys

MAX_BYTES = 100_000
"""A longer list of keys is refused."""


class _Pinned(BaseModel):
    sites: dict[str, SiteKeys] = {}


def fetch(url: str) -> SiteKeys:
    """Fetch what a site publishes at `/.well-known/gemweb.json`. Redirects are not followed.

    Raises:
        UsageError: if the address is none, or not encrypted and not of this machine.
        Unreachable: if the site gives no answer.
        UnexpectedAnswer: if it answers something else.
    """
    address = normalize(url)
    if sends_in_clear(address):
        raise UsageError(f"Keys are fetched over https only, so that nobody can exchange them on the way: {address}.")
    runner = Runner(address, "", None, TIMEOUT_SECONDS)
    content = b""
    with runner.named_failures(), runner.client_beside_api() as client, client.stream("GET", WELL_KNOWN) as answer:
        for part in answer.iter_bytes():
            content += part
            if len(content) > MAX_BYTES:
                break
    if answer.status_code != 200 or len(content) > MAX_BYTES:
        raise UnexpectedAnswer(f"{address}{WELL_KNOWN} has no list of keys: the answer was {answer.status_code}.")
    try:
        return SiteKeys.read(content)
    except InvalidData as error:
        raise UnexpectedAnswer(f"{address}{WELL_KNOWN} has no list of keys. {error}") from error


def pinned_path() -> Path:
    """The path of the file with pinned keys, which need not exist."""
    return credentials_path().with_name("keys.json")


def pinned(site: str) -> SiteKeys | None:
    """Return the pinned keys of a site; None if there are none.

    Raises:
        UsageError: if the file cannot be read.
    """
    return _read().sites.get(site)


def pin(site: str, keys: SiteKeys) -> Path:
    """Keep the keys of a site, in place of those kept before, and return the path of the file.

    Raises:
        UsageError: if the file cannot be read or written.
    """
    kept = _read()
    kept.sites[site] = keys
    path = pinned_path()
    name = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(kept.model_dump_json(indent=2) + "\n")
        os.replace(name, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(name)
        raise UsageError(f"{path} cannot be written: {error.strerror}.") from error
    return path


def _read() -> _Pinned:
    path = pinned_path()
    try:
        return _Pinned.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return _Pinned()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise UsageError(f"{path} is damaged. Delete it and pin the keys again: gemweb verify --pin.") from error
