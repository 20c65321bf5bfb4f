"""What the commands on a server share: which server, the client, and output as JSON."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pydantic import BaseModel

    from gem.client import Client


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--url` and `--json`."""
    parser.add_argument("--url", help="the server (GEMWEB_URL, else that of the last gemweb login)")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of a table")


def connect(url: str | None) -> Client:
    """Make the client of a command.

    Raises:
        UsageError: if the address is none, or httpx2 is not installed.
    """
    from gem.client import Client  # noqa: PLC0415 (the other commands start faster without it)

    return Client(url)


def check_logged_in(url: str | None, otherwise: str = "") -> None:
    """Refuse to list what is the person's own if the server could not know whose that is.

    Args:
        otherwise: a sentence about what can be done without a login.

    Raises:
        NotLoggedIn: there is no token for the server.
    """
    from gem.net.credentials import NotLoggedIn, find_login  # noqa: PLC0415 (as above)

    login = find_login(url)
    if not login.token:
        sentences = [f"You are not logged in to {login.url}. gemweb login saves a token for the commands.", otherwise]
        raise NotLoggedIn(" ".join(filter(None, sentences)))


def print_json(data: BaseModel | Iterable[BaseModel]) -> None:
    """Print an object, or a list of objects, as one JSON document."""
    from pydantic import BaseModel  # noqa: PLC0415 (as above)

    plain: Any = data.model_dump(mode="json") if isinstance(data, BaseModel) else [_plain(item) for item in data]
    json.dump(plain, sys.stdout, indent=2, ensure_ascii=False)
    print()


def _plain(item: BaseModel) -> dict[str, Any]:
    return item.model_dump(mode="json")


def moment(time: datetime | None) -> str:
    """Return a time of the server, which is in UTC, as text; empty for None."""
    return "" if time is None else f"{time:%Y-%m-%d %H:%M}"


def share(value: float | None) -> str:
    """Return a share as a percentage; empty for None."""
    return "" if value is None else f"{value:.1%}"
