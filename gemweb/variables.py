"""Reading environment variables: an invalid value stops the start with one sentence."""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

HOST = re.compile(r"\*|\.?[^\s:/\[\]@*]+|\[[0-9A-Fa-f:.]+\]")
ORIGIN = re.compile(r"https?://[^\s/?#@]+")
YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class Variables:
    """The variables by name. An empty one counts as not set. A secret can also be in the file `NAME_FILE`.

    Every method raises `ImproperlyConfigured` with a sentence that names the variable but never contains a secret.
    """

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        self._env = env

    def text(self, name: str, default: str = "") -> str:
        """A string."""
        return self._env.get(name, "") or default

    def switch(self, name: str, *, default: bool) -> bool:
        """On or off. Other words are refused; otherwise a typing error could switch HTTPS off."""
        value = self.text(name).strip().lower()
        if value and value not in YES + NO:
            raise ImproperlyConfigured(f"{name} is {value!r}: write 1 or 0.")
        return value in YES if value else default

    def whole(self, name: str, default: int, least: int = 0) -> int:
        """An integer, `least` or more."""
        value = self.text(name, str(default)).strip()
        if not (value.isascii() and value.isdecimal()):
            raise ImproperlyConfigured(f"{name} is {value!r}: a whole number is needed, such as {default}.")
        if int(value) < least:
            raise ImproperlyConfigured(f"{name} is {value!r}: it must be {least} or more, such as {default}.")
        return int(value)

    def number(self, name: str, default: float) -> float:
        """A number above 0."""
        value = self.text(name, str(default)).strip()
        try:
            number = float(value)
        except ValueError:
            number = 0.0
        if not 0 < number < float("inf"):
            raise ImproperlyConfigured(f"{name} is {value!r}: a number above 0 is needed, such as {default:g}.")
        return number

    def texts(self, name: str, default: list[str]) -> list[str]:
        """Strings separated by commas."""
        value = self.text(name)
        return [part.strip() for part in value.split(",") if part.strip()] if value else default

    def hosts(self, name: str, default: list[str]) -> list[str]:
        """Host names separated by commas, as Django compares them: without a scheme, a port or a path."""
        hosts = self.texts(name, default)
        for host in hosts:
            if not HOST.fullmatch(host):
                raise ImproperlyConfigured(
                    f"{name} has {host!r}: host names are needed, without https:// and without a port, such as "
                    "gem.example.org."
                )
        return hosts

    def origins(self, name: str, default: list[str]) -> list[str]:
        """Origins separated by commas, as browsers send them: a scheme, a host and maybe a port."""
        origins = self.texts(name, default)
        for origin in origins:
            if not ORIGIN.fullmatch(origin):
                raise ImproperlyConfigured(
                    f"{name} has {origin!r}: whole origins are needed, without a path, such as https://gem.example.org."
                )
        return origins

    def networks(self, name: str, default: list[str]) -> list[str]:
        """IP addresses and networks separated by commas."""
        networks = self.texts(name, default)
        for network in networks:
            try:
                ipaddress.ip_network(network)
            except ValueError as error:
                raise ImproperlyConfigured(
                    f"{name} has {network!r}: addresses and networks are needed, such as 10.1.2.3 or 172.16.0.0/12."
                ) from error
        return networks

    def choice(self, name: str, words: tuple[str, ...], default: str) -> str:
        """One of these words, ignoring case."""
        value = self.text(name, default).strip().upper()
        if value not in words:
            raise ImproperlyConfigured(f"{name} is {value!r}: write one of {', '.join(words)}.")
        return value

    def secret(self, name: str, default: str = "") -> str:
        """A string, or the content of the file `NAME_FILE`, in which Docker and systemd pass secrets."""
        path = self.text(f"{name}_FILE")
        if not path:
            return self.text(name, default)
        if self.text(name):
            raise ImproperlyConfigured(f"Set {name} or {name}_FILE, not both.")
        try:
            value = Path(path).read_text("utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE is {path}, which cannot be read: {error.strerror}.") from error
        if not value:
            raise ImproperlyConfigured(f"{name}_FILE is {path}, which is empty.")
        return value

    def url(self, name: str, schemes: tuple[str, ...], default: str) -> str:
        """A URL with one of these schemes."""
        value = self.secret(name, default)
        if value.partition("://")[0] not in schemes:
            raise ImproperlyConfigured(f"{name} must begin with {' or '.join(f'{scheme}://' for scheme in schemes)}.")
        return value

    def server(self, name: str, schemes: tuple[str, ...], default: str) -> str:
        """A URL like `url`, whose port, if it has one, is a number."""
        value = self.url(name, schemes, default)
        try:
            _ = urlsplit(value).port
        except ValueError:
            raise ImproperlyConfigured(
                f"{name} is no address: its port must be a number, and in its password / is written %2F, and # is %23."
            ) from None  # the original error contains a part of the password
        return value

    def database(self, name: str, default: str) -> dict[str, Any]:
        """The Django settings for a Postgres URL. Parameters after its `?`, such as sslmode, are in `OPTIONS`."""
        value = self.url(name, ("postgres", "postgresql"), default)
        try:
            config: dict[str, Any] = environ.Env.db_url_config(value, engine="gemweb.database")
        except ValueError:
            raise ImproperlyConfigured(
                f"{name} is no address: write postgres://user:password@host:5432/name, and in the password %25 for %, "
                "%2F for /, %40 for @, %3A for :, %23 for #."
            ) from None  # the original error contains a part of the password
        return {**config, "OPTIONS": dict(config.get("OPTIONS", {}))}
