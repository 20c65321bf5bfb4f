"""Rate limits for new accounts (by IP address) and for password changes (by account).

The first limit stops scripts. The second stops somebody who guesses the password at a browser left logged in.
"""

from __future__ import annotations

import math

from django.conf import settings
from django.http import HttpRequest

from apps.accounts.models import User
from apps.accounts.rate_limit import take

HOUR = 3600


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


def check_password_change(user: User) -> None:
    """Count one attempt to change this person's password.

    Raises:
        TooOften: above `PASSWORD_CHANGES_PER_HOUR`.
    """
    size = settings.PASSWORD_CHANGES_PER_HOUR
    wait = take(f"password:of:{user.pk}", size, size / HOUR)
    if wait > 0:
        raise TooOften(
            f"You can try to change your password {size} times an hour. It was not changed. "
            f"Try again in {in_words(wait)}.",
            wait,
        )


def in_words(seconds: float) -> str:
    """A waiting time in words, such as `12 s` or `3 minutes`."""
    if seconds > 90:
        return f"{math.ceil(seconds / 60)} minutes"
    return f"{max(1, math.ceil(seconds))} s"
