"""How many accounts one address may make, and how often somebody may try to change a password.

The first is for scripts, the second for whoever sits down at a browser that was left logged in.
"""

from __future__ import annotations

import math

from django.conf import settings
from django.http import HttpRequest

from apps.accounts.models import User
from apps.accounts.rate_limit import take

HOUR = 3600


class TooOften(Exception):
    """More was tried than one address or account may try; `str(refusal)` says what to do."""

    def __init__(self, sentence: str, wait: float) -> None:
        super().__init__(sentence)
        self.wait = wait
        """Seconds until the next try."""


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
            f"{size} {accounts} an hour can be made from one address, and yours has made as many. Nothing was "
            f"changed. Try again in {in_words(wait)}; playing and watching go on without an account.",
            wait,
        )


def check_password_change(user: User) -> None:
    """Count one try to change this person's password.

    Raises:
        TooOften: above `PASSWORD_CHANGES_PER_HOUR`.
    """
    size = settings.PASSWORD_CHANGES_PER_HOUR
    wait = take(f"password:of:{user.pk}", size, size / HOUR)
    if wait > 0:
        raise TooOften(
            f"A password can be tried {size} times an hour here. Yours was not changed. Try again in {in_words(wait)}.",
            wait,
        )


def in_words(seconds: float) -> str:
    """A wait as people say it."""
    if seconds > 90:
        return f"{math.ceil(seconds / 60)} minutes"
    return f"{max(1, math.ceil(seconds))} s"
