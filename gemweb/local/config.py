"""The settings of the stack, read from environment and make variables and checked."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gemweb.local.errors import StackError
from gemweb.variables import YES

ROOT = Path(__file__).resolve().parent.parent.parent
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
WILDCARD = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - compared with, not bound to


@dataclass(frozen=True)
class StackConfig:
    """The address to listen on, the folder for data, and the external servers, if any."""

    bind: str
    port: int
    state_dir: Path
    database_url: str
    valkey_url: str
    is_encrypted: bool = False
    """Whether somebody encrypts the connections of browsers: HTTPS or TLS_IN_FRONT is on."""

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> "StackConfig":
        """Read BIND, PORT, STATE_DIR, DATABASE_URL, VALKEY_URL, HTTPS and TLS_IN_FRONT; empty means unset."""
        return cls(
            bind=env.get("BIND") or "127.0.0.1",
            port=_port(env.get("PORT") or "8000"),
            state_dir=(ROOT / Path(env.get("STATE_DIR") or ".state").expanduser()).resolve(),
            database_url=env.get("DATABASE_URL", ""),
            valkey_url=env.get("VALKEY_URL", ""),
            is_encrypted=any(env.get(name, "").strip().lower() in YES for name in ("HTTPS", "TLS_IN_FRONT")),
        )

    @property
    def local(self) -> bool:
        """Whether only this machine can reach the site."""
        return self.bind in LOOPBACK

    def url(self, host: str = "") -> str:
        """The address of the site for a browser."""
        host = host or self.bind
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise StackError(f"PORT must be a number from 0 (any free port) to 65535, not {text!r}.")
    return int(text)
