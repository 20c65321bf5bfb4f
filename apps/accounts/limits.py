"""Rate limits for new accounts (by IP address), for logging in (by name and address) and for password changes.

The first limit stops scripts. The others slow down somebody who guesses passwords. Nobody is locked out: a guesser who
uses up the attempts with a name delays its owner by some seconds.
"""

from __future__ import annotations

import hashlib
import math

from django.conf import settings
from django.http import HttpRequest

from apps.accounts.models import User
from apps.accounts.rate_limit import take

MINUTE = 60
HOUR = 3600
EXPORTS_PER_HOUR = 6
NAMES_PER_ADDRESS = 10
"""How many people of one IP address, such as a classroom, can log in as often as one name allows."""


class TooOften(Exception):
    """Raised above a rate limit; its text is the sentence to show."""

    def __init__(self, sentence: str, wait: float) -> None:
        super().__init__(sentence)
        self.wait = wait
        """Seconds until the next attempt is allowed."""


def check_sign_up(request: HttpRequest) -> None:
    """Count one new account for the request's address.

    Raises:
        TooOften: above `SIGNUPS_PER_HOUR`.
    """
    size = settings.SIGNUPS_PER_HOUR
    wait = take(f"signup:from:{request.META.get('REMOTE_ADDR', '')}", size, size / HOUR)
    if wait > 0:
        accounts = "account" if size == 1 else "accounts"
        raise TooOften(
            f"At most {size} {accounts} an hour can be created from one IP address, and yours has reached this limit. "
            f"Nothing was changed. Try again in {in_words(wait)}. You can play and watch without an account.",
            wait,
        )


def check_log_in(request: HttpRequest, name: str) -> None:
    """Count one attempt to log in with this name, whether or not somebody has it.

    Raises:
        TooOften: above `LOGINS_PER_MINUTE` for the name, or ten times as many for the request's address.
    """
    size = settings.LOGINS_PER_MINUTE
    several = size * NAMES_PER_ADDRESS
    wait = take(f"login:from:{request.META.get('REMOTE_ADDR', '')}", several, several / MINUTE)
    wait = wait or take(f"login:of:{name_key(name)}", size, size / MINUTE)
    if wait > 0:
        raise TooOften(
            "There were too many attempts to log in with this name or from your address. Nothing was changed. "
            f"Try again in {in_words(wait)}. You can play and watch without an account.",
            wait,
        )


def name_key(name: str) -> str:
    """The part of a bucket's name that stands for this name in any case; what people type may be long."""
    return hashlib.sha256(name.lower().encode()).hexdigest()


def check_password_change(user: User) -> None:
    """Count one attempt to change this person's password, or to delete the account with it.

    Raises:
        TooOften: above `PASSWORD_CHANGES_PER_HOUR`.
    """
    size = settings.PASSWORD_CHANGES_PER_HOUR
    wait = take(f"password:of:{user.pk}", size, size / HOUR)
    if wait > 0:
        raise TooOften(
            f"You can enter your password here {size} times an hour. Nothing was changed. "
            f"Try again in {in_words(wait)}.",
            wait,
        )


def check_export(user: User) -> None:
    """Count one export of this person's data, which may read everything that they ever did.

    Raises:
        TooOften: above `EXPORTS_PER_HOUR`.
    """
    wait = take(f"export:of:{user.pk}", EXPORTS_PER_HOUR, EXPORTS_PER_HOUR / HOUR)
    if wait > 0:
        raise TooOften(
            f"You can download your data {EXPORTS_PER_HOUR} times an hour. Try again in {in_words(wait)}.", wait
        )


def in_words(seconds: float) -> str:
    """A waiting time in words, such as `12 s` or `3 minutes`."""
    if seconds > 90:
        return f"{math.ceil(seconds / 60)} minutes"
    return f"{max(1, math.ceil(seconds))} s"
