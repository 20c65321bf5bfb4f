"""The address of a server of OpenEnv, and the token that is sent there.

The address is the id of an environment: it stands in records, tables, files and messages. So it has no token in it; the
token of a gemweb site is one of this machine (`gemweb login`, or GEMWEB_URL and GEMWEB_TOKEN), and is sent as a header.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from gem.errors import InvalidArgument
from gem.net.http import check_url

PREFIX = "gw_"
"""How a token of a gemweb site begins."""
MOUNT = "/openenv/"
"""What follows the address of a gemweb site in those of its environments."""


def check_address(url: str) -> str:
    """Return the address of a server in a normalized form.

    Raises:
        InvalidArgument: if it is none, or it has a token in it.
    """
    address = check_url(url)
    if any(part.startswith(PREFIX) for part in urlsplit(address).path.split("/")):
        raise InvalidArgument(
            "Leave the token out of the address, which is recorded with every episode: /openenv/ENV_ID is enough. "
            "gemweb sends the token of `gemweb login`, or GEMWEB_TOKEN if GEMWEB_URL is the address of the site."
        )
    return address


def headers_for(address: str) -> dict[str, str]:
    """The header with this machine's token for the site of an address; empty if there is none, or it is no such site.

    Raises:
        UsageError: if the file with the tokens is damaged.
    """
    from gem.net.credentials import token_of  # noqa: PLC0415 (for servers of OpenEnv alone)

    site, mount, _ = address.partition(MOUNT)
    token = token_of(site) if mount else ""
    return {"Authorization": f"Bearer {token}"} if token else {}
