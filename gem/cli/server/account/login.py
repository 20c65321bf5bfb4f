"""`gemweb login`: keep the token of a server, so that the other commands can use it."""

from __future__ import annotations

import argparse
import getpass
import sys

from gem.errors import UsageError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("url", nargs="?", metavar="URL", help="the server (GEMWEB_URL, else that of the last login)")
    parser.add_argument(
        "--token", help="the token; better in GEMWEB_TOKEN or typed when asked, because others may see arguments"
    )


def run(url: str | None, token: str | None) -> int:
    """Check the token and keep it in a file that only its owner can read."""
    from gem.client import Client  # noqa: PLC0415 (the other commands start faster without it)
    from gem.net import credentials  # noqa: PLC0415 (as above)

    server = credentials.find_login(url).url
    if credentials.sends_in_clear(server):
        print(f"Careful: {server} has no TLS, so others in the network can read the token.", file=sys.stderr)
    secret = (token or credentials.token_for(server) or _ask_for_token(server)).strip()
    if not secret or not secret.isascii() or not secret.isprintable():
        raise UsageError(f"This is not a token. Make one on your account page: {server}/account/")
    with Client(server, secret) as client:
        account = client.account.get()
    path = credentials.store(credentials.Login(server, secret))
    scopes = ", ".join(account.token.scopes) if account.token else "nothing"
    print(f"Logged in to {server} as {account.name}. The token has the scopes {scopes}; it is kept in {path}.")
    return 0


def _ask_for_token(server: str) -> str:
    """Read the token from the terminal without showing it, or from a pipe."""
    if not sys.stdin.isatty():
        return sys.stdin.readline()
    print(f"Make a token on your account page: {server}/account/", file=sys.stderr)
    return getpass.getpass("Token: ")
