"""Where tokens are kept between commands: one file that only its owner can read.

The file is `gemweb/credentials.json` in the user's configuration folder (`XDG_CONFIG_HOME`, else `~/.config`). The
environment variables GEMWEB_URL and GEMWEB_TOKEN come before it, so that a program elsewhere needs no file.
"""

from __future__ import annotations

import ipaddress
import os
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, ValidationError

from gem.errors import UsageError

DEFAULT_URL = "http://127.0.0.1:8000"
"""The address of a site that `make up` has started."""


class NotLoggedIn(UsageError):
    """There is no token for the server; the message says how to get one."""


class Login(NamedTuple):
    """A server, and the token to use there; the token is empty if there is none."""

    url: str
    token: str


class _Stored(BaseModel):
    model_config = ConfigDict(extra="ignore")

    url: str = ""
    """The server of the last login."""
    tokens: dict[str, str] = {}
    """The token of each server."""


def credentials_path() -> Path:
    """The path of the file, which need not exist."""
    folder = os.environ.get("XDG_CONFIG_HOME")
    return (Path(folder) if folder else Path.home() / ".config") / "gemweb" / "credentials.json"


def find_login(url: str | None = None, token: str | None = None) -> Login:
    """Return the server and the token to use: what is given, else the environment's, else that of the last login.

    An empty `token` stands for none. A token is sent to its own server only: that of the environment not to another one
    than GEMWEB_URL, if it is set.

    Raises:
        UsageError: if the file cannot be read, `url` is no address, or the token can be none.
    """
    environment_url = os.environ.get("GEMWEB_URL")
    stored = _Stored() if url and token is not None else _read()
    chosen = url or environment_url
    address = normalize(chosen) if chosen else stored.url or DEFAULT_URL
    found = token_for(address) or stored.tokens.get(address, "")
    return Login(address, clean_token(found if token is None else token))


def clean_token(token: str) -> str:
    """Return a token without the white space around it, such as the end of the line of the file that it was in.

    Raises:
        UsageError: if it has characters that no token has, and so cannot be sent.
    """
    text = token.strip()
    if not all("!" <= character <= "~" for character in text):
        raise UsageError(
            "This is not a token: one begins with gw_ and has no spaces and only ASCII characters. "
            "Copy it again, or make another one on your account page."
        )
    return text


def token_for(address: str) -> str:
    """Return GEMWEB_TOKEN if it is for this server: GEMWEB_URL names it, or is not set. Otherwise it is empty."""
    url = os.environ.get("GEMWEB_URL")
    return os.environ.get("GEMWEB_TOKEN", "") if not url or normalize(url) == address else ""


def token_of(url: str) -> str:
    """Return the token for a server that an address names: GEMWEB_TOKEN if GEMWEB_URL is this server, else the file's.

    It is empty if there is none. GEMWEB_TOKEN alone is for no server in particular, and so not for any address.

    Raises:
        UsageError: if the file cannot be read, or `url` is no address.
    """
    address = normalize(url)
    found = token_for(address) if os.environ.get("GEMWEB_URL") else ""
    return clean_token(found or stored_login(address).token)


def stored_login(url: str | None = None) -> Login:
    """Return the server and the token that the file has: of `url`, or of the last login.

    Raises:
        UsageError: if the file cannot be read, or `url` is no address.
    """
    stored = _read()
    address = normalize(url) if url else stored.url or DEFAULT_URL
    return Login(address, stored.tokens.get(address, ""))


def store(login: Login) -> Path:
    """Keep a token, and make its server the one that later commands use. Returns the path of the file.

    Raises:
        UsageError: if the file cannot be written.
    """
    stored = _read()
    stored.url = login.url
    stored.tokens[login.url] = login.token
    _write(stored)
    return credentials_path()


def forget(url: str) -> bool:
    """Delete the token of a server, and return whether there was one.

    Raises:
        UsageError: if the file cannot be written.
    """
    stored = _read()
    was_there = stored.tokens.pop(url, None) is not None
    if was_there:
        if stored.url == url:
            stored.url = next(iter(stored.tokens), "")
        _write(stored)
    return was_there


def normalize(url: str) -> str:
    """Return the address of a server without what follows its host, or the path that it is served under.

    Raises:
        UsageError: if it is no address of a server.
    """
    text = url.strip()
    try:
        parts = urlsplit(text if "://" in text else f"http://{text}" if _is_local(text) else f"https://{text}")
        port = f":{parts.port}" if parts.port is not None else ""
    except ValueError as error:
        raise UsageError(f"{url!r} is not an address: {error}.") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url!r} is not an address; one is {DEFAULT_URL} or https://gemweb.example.org.")
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise UsageError("Give the address of the server alone; the token is asked for, or given with --token.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    path = parts.path.rstrip("/").removesuffix("/api/v1")
    return f"{parts.scheme}://{host}{port}{path}"


def sends_in_clear(url: str) -> bool:
    """Whether a token sent there can be read on the way: without TLS, and not on this machine."""
    parts = urlsplit(url)
    return parts.scheme == "http" and not _is_local(parts.netloc)


def _is_local(netloc: str) -> bool:
    host = netloc.partition("/")[0]
    name = host[1 : host.find("]")] if host.startswith("[") else host.partition(":")[0]
    try:
        return name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _read() -> _Stored:
    path = credentials_path()
    try:
        return _Stored.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return _Stored()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    except ValidationError as error:
        raise UsageError(f"{path} is damaged. Delete it and log in again: gemweb login.") from error


def _write(stored: _Stored) -> None:
    """Replace the file in one step; from its first byte on, only the owner can read it."""
    path = credentials_path()
    name = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)  # with mode 600
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(stored.model_dump_json(indent=2) + "\n")
        os.replace(name, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(name)
        raise UsageError(f"{path} cannot be written: {error.strerror}. GEMWEB_TOKEN works without it.") from error
