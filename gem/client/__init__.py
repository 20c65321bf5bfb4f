"""The client of a gemweb site: it plays, submits and reads over the network. It needs no Django.

    from gem.client import Client

    with Client("https://gemweb.example.org", token) as client:
        env = client.make("game:GuessTheNumber-v0-easy")

`clients` has both clients and is the place to begin reading; `schemas` and `events` are shared with the server. The
client needs the package httpx2: `pip install '.[client]'`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gem.validation.dependencies import CLIENT_PACKAGES, require_installed

if TYPE_CHECKING:
    from gem.client.clients import AsyncClient, Client
    from gem.client.remote_env import RemoteEnv
    from gem.client.retries import Retries

MEMBERS = {
    "AsyncClient": "gem.client.clients",
    "Client": "gem.client.clients",
    "RemoteEnv": "gem.client.remote_env",
    "Retries": "gem.client.retries",
}
"""The names that are imported at the first use: the server imports `schemas` without them and without httpx2."""
__all__ = ["AsyncClient", "Client", "RemoteEnv", "Retries"]

if not TYPE_CHECKING:  # with a module-level __getattr__, type checkers would accept any name

    def __getattr__(name: str) -> Any:
        """Import a member at its first use."""
        if name not in MEMBERS:
            raise AttributeError(f"module 'gem.client' has no attribute {name!r}")
        if MEMBERS[name] == "gem.client.clients":
            require_installed("gem.client", CLIENT_PACKAGES)
        return getattr(import_module(MEMBERS[name]), name)
