"""Invitations to create an account on a site without open sign-ups: signed links that work until a date, for as many
people as have the link."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime

FIELD = "invitation"
"""The parameter of the link, and the field of the form that carries it on."""
_SALT = "accounts.invitation"


def make_invitation(days: int) -> str:
    """The path of a link with which accounts can be created for some days."""
    token = signing.dumps((timezone.now() + timedelta(days=days)).isoformat(), salt=_SALT)
    return f"{reverse('accounts:signup')}?{FIELD}={token}"


def may_sign_up(request: HttpRequest) -> bool:
    """Whether the person may create an account: anybody on a site with open sign-ups, else with an invitation."""
    return settings.OPEN_SIGNUPS or _is_valid(token_of(request))


def token_of(request: HttpRequest) -> str:
    """The invitation that a request carries; empty if it has none."""
    return request.POST.get(FIELD) or request.GET.get(FIELD, "")


def _is_valid(token: str) -> bool:
    try:
        until = parse_datetime(signing.loads(token, salt=_SALT))
    except signing.BadSignature:
        return False
    return until is not None and timezone.now() < until
