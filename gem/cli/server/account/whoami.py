"""`gemweb whoami`: whose token is used, what it may do, and how much of the site is used."""

from __future__ import annotations

import argparse

from gem.cli.output.tables import table
from gem.cli.server import connection
from gem.cli.server.connection import connect, moment, print_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    connection.add_arguments(parser)


def run(url: str | None, as_json: bool) -> int:
    """Print the account, the token and the quotas."""
    with connect(url) as client:
        account = client.account.get()
        if as_json:
            print_json(account)
            return 0
        quotas = client.account.quotas().items
        print(f"{account.name} on {client.url}")
    if account.token is not None:
        end = f"valid until {moment(account.token.expires)} UTC" if account.token.expires else "valid until revoked"
        print(f"Token {account.token.name} ({account.token.hint}…), scopes {', '.join(account.token.scopes)}, {end}")
    rows = [
        [use.title, f"{use.used:,g}", "no limit" if use.limit is None else f"{use.limit:,}", use.unit] for use in quotas
    ]
    if rows:
        print()
        table(["used now", "", "limit", "unit"], rows)
    return 0
