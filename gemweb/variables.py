"""Reading the process's environment: what cannot be understood stops the start with one sentence."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import environ
from django.core.exceptions import ImproperlyConfigured

YES, NO = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


class Variables:
    """The variables by name; an empty one counts as not set. A secret may also be in the file that `NAME_FILE` names.

    Every method raises `ImproperlyConfigured` with a sentence that names the variable; a secret is never repeated.
    """

    def __init__(self, env: Mapping[str, str] = os.environ) -> None:
        self._env = env

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        return self._env.get(name, "") or default

    def switch(self, name: str, *, default: bool) -> bool:
        """On or off. A word that is neither is refused: read as "off", a typing error would switch HTTPS off."""
        said = self.text(name).strip().lower()
        if said and said not in YES + NO:
            raise ImproperlyConfigured(f"{name} is {said!r}: write 1 or 0.")
        return said in YES if said else default

    def whole(self, name: str, default: int) -> int:
        """A whole number, 0 or more."""
        said = self.text(name, str(default)).strip()
        if not (said.isascii() and said.isdecimal()):
            raise ImproperlyConfigured(f"{name} is {said!r}: a whole number is needed, such as {default}.")
        return int(said)

    def number(self, name: str, default: float) -> float:
        """A number above 0."""
        said = self.text(name, str(default)).strip()
        try:
            number = float(said)
        except ValueError:
            number = 0.0
        if not 0 < number < float("inf"):
            raise ImproperlyConfigured(f"{name} is {said!r}: a number above 0 is needed, such as {default:g}.")
        return number

    def texts(self, name: str, default: list[str]) -> list[str]:
        """Texts between commas."""
        said = self.text(name)
        return [each.strip() for each in said.split(",") if each.strip()] if said else default

    def networks(self, name: str, default: list[str]) -> list[str]:
        """Addresses and networks of machines between commas."""
        found = self.texts(name, default)
        for each in found:
            try:
                ipaddress.ip_network(each)
            except ValueError as error:
                raise ImproperlyConfigured(
                    f"{name} has {each!r}: addresses and networks are needed, such as 10.1.2.3 or 172.16.0.0/12."
                ) from error
        return found

    def choice(self, name: str, words: tuple[str, ...], default: str) -> str:
        """One of these words, whatever the case."""
        said = self.text(name, default).strip().upper()
        if said not in words:
            raise ImproperlyConfigured(f"{name} is {said!r}: write one of {', '.join(words)}.")
        return said

    def secret(self, name: str, default: str = "") -> str:
        """A text, or what stands in the file that `NAME_FILE` names, as Docker and systemd hand over secrets."""
        place = self.text(f"{name}_FILE")
        if not place:
            return self.text(name, default)
        if self.text(name):
            raise ImproperlyConfigured(f"Set {name} or {name}_FILE, not both.")
        try:
            said = Path(place).read_text("utf-8").strip()
        except OSError as error:
            raise ImproperlyConfigured(f"{name}_FILE is {place}, which cannot be read: {error.strerror}.") from error
        if not said:
            raise ImproperlyConfigured(f"{name}_FILE is {place}, which is empty.")
        return said

    def url(self, name: str, schemes: tuple[str, ...], default: str) -> str:
        """An address with one of these schemes."""
        said = self.secret(name, default)
        if said.partition("://")[0] not in schemes:
            raise ImproperlyConfigured(f"{name} must begin with {' or '.join(f'{each}://' for each in schemes)}.")
        return said

    def database(self, name: str, default: str) -> dict[str, Any]:
        """Django's words for a Postgres address; what stands after its `?` (sslmode and the like) is in `OPTIONS`."""
        said = self.url(name, ("postgres", "postgresql"), default)
        try:
            found: dict[str, Any] = environ.Env.db_url_config(said)
        except ValueError:
            raise ImproperlyConfigured(
                f"{name} is no address: write postgres://user:password@host:5432/name, and in the password %25 for %, "
                "%2F for /, %40 for @, %3A for :, %23 for #."
            ) from None  # it would repeat a part of the password
        return {**found, "OPTIONS": dict(found.get("OPTIONS", {}))}
