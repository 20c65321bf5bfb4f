"""`gemweb logout`: forget the token of a server."""

from __future__ import annotations

import argparse
from contextlib import suppress

from gem.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("url", nargs="?", metavar="URL", help="the server (that of the last login)")
    parser.add_argument("--revoke", action="store_true", help="also end the token on the server, wherever it is used")


def run(url: str | None, revoke: bool) -> int:
    """Delete the token from this machine, and with `revoke` from the server."""
    from gem.client import Client  # noqa: PLC0415 (the other commands start faster without it)
    from gem.client.errors import NotAuthenticated  # noqa: PLC0415
    from gem.net import credentials  # noqa: PLC0415 (as above)

    login = credentials.stored_login(url)
    if not login.token:
        raise UsageError(f"You are not logged in to {login.url}; nothing was changed.")
    if revoke:
        with Client(login.url, login.token) as client, suppress(NotAuthenticated):  # it was revoked or ran out before
            client.account.revoke_token()
    credentials.forget(login.url)
    done = "and revoked" if revoke else "from this machine; on the server it is valid until you revoke it"
    print(f"The token of {login.url} was deleted {done}.")
    return 0
