"""Encryption of endpoint keys and other secrets with keys from a file, so that the database alone reveals none.

The file has one Fernet key per line, the newest first. It is created on first use and readable only by its owner.
`manage.py rotate_endpoint_keys` adds a new key at the top.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.db import models
from pydantic import SecretStr

SEALED: list[tuple[models.Manager[Any], str]] = []
"""Rows with a field that is sealed, which `rotate_endpoint_keys` seals anew. Apps add theirs in `AppConfig.ready`."""


def register(rows: models.Manager[Any], field: str) -> None:
    """Say that this field of these rows is sealed."""
    SEALED.append((rows, field))


class CannotUnseal(Exception):
    """The endpoint key was encrypted with a key that the file does not have. It must be entered again."""


def seal(key: SecretStr) -> str:
    """Encrypt an endpoint key with the newest key of the file. An empty one stays empty."""
    secret = key.get_secret_value()
    return _fernet().encrypt(secret.encode()).decode() if secret else ""


def unseal(sealed: str) -> SecretStr | None:
    """Decrypt a sealed endpoint key; None if it is empty.

    Raises:
        CannotUnseal: if the file does not have the key for it.
    """
    if not sealed:
        return None
    try:
        return SecretStr(_fernet().decrypt(sealed.encode()).decode())
    except InvalidToken as error:
        raise CannotUnseal("The stored key can no longer be read. Enter it again.") from error


def reseal(sealed: str) -> str:
    """Encrypt a sealed endpoint key again, with the newest key of the file.

    Raises:
        CannotUnseal: if the file does not have the key for it.
    """
    try:
        return _fernet().rotate(sealed.encode()).decode()
    except InvalidToken as error:
        raise CannotUnseal("A stored key was sealed with a key that the file does not have.") from error


def add_key() -> None:
    """Add a new key at the top of the file. The older keys still decrypt what they encrypted."""
    _write([Fernet.generate_key().decode(), *_keys()])


def forget_old_keys() -> int:
    """Keep only the newest key of the file. Returns the number of removed keys."""
    keys = _keys()
    _write(keys[:1])
    return len(keys) - 1


def _fernet() -> MultiFernet:
    """The keys, read anew on every call, because another process may have rotated the file."""
    return MultiFernet([Fernet(key) for key in _keys()])


def _keys() -> list[str]:
    path: Path = settings.ENDPOINT_KEYS_FILE
    if not path.exists():
        _create_file(path)
    return path.read_text().split()


def _create_file(path: Path) -> None:
    """Create the file once, even if several processes try at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not path.exists():
            _write([Fernet.generate_key().decode()])


def _write(keys: list[str]) -> None:
    path: Path = settings.ENDPOINT_KEYS_FILE
    draft = path.with_name(f"{path.name}.new")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write("\n".join(keys) + "\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
