"""Sealing endpoint keys: encrypted with keys from a file of their own, so that the database alone tells none.

The file has one Fernet key on each line, the newest first; it is made on first use, readable by its owner only.
`manage.py rotate_endpoint_keys` puts a new one at its top.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from pydantic import SecretStr


class CannotUnseal(Exception):
    """The key was sealed with a key that the file does not have; it has to be entered again."""


def seal(key: SecretStr) -> str:
    """The key, encrypted with the newest key of the file; an empty one stays empty."""
    secret = key.get_secret_value()
    return _fernet().encrypt(secret.encode()).decode() if secret else ""


def unseal(sealed: str) -> SecretStr | None:
    """What was sealed; None if nothing was.

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
    """The same key, sealed with the newest key of the file.

    Raises:
        CannotUnseal: as `unseal`.
    """
    try:
        return _fernet().rotate(sealed.encode()).decode()
    except InvalidToken as error:
        raise CannotUnseal("A stored key was sealed with a key that the file does not have.") from error


def add_key() -> None:
    """Put a new key at the top of the file; the others still open what they sealed."""
    _write([Fernet.generate_key().decode(), *_keys()])


def forget_old_keys() -> int:
    """Keep the newest key of the file only; the number of keys that are gone."""
    keys = _keys()
    _write(keys[:1])
    return len(keys) - 1


def _fernet() -> MultiFernet:
    """Read anew each time: the file may have been rotated by another process."""
    return MultiFernet([Fernet(key) for key in _keys()])


def _keys() -> list[str]:
    path: Path = settings.ENDPOINT_KEYS_FILE
    if not path.exists():
        _make(path)
    return path.read_text().split()


def _make(path: Path) -> None:
    """Make the file, once, however many processes want to at the same time."""
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
