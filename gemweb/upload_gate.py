"""Uploads are decided by their headers: who sends them, how large they are, and whether there is room."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import parse_cookie
from django.urls import reverse

from apps.accounts.models import User, Viewer
from apps.agents import uploads
from apps.agents.uploads import MEGABYTE, UploadRefused
from apps.api import middleware
from apps.api.callers import manager
from apps.api.problems import CONTENT_TYPE, NO_ACCOUNT, UNKNOWN_TOKEN, problem
from apps.api.tokens import viewer_of_token
from apps.live.session_user import identify
from apps.live.threads import in_thread
from apps.spec_forms import UNSTORABLE
from gemweb.bodies import BodyRefused, as_text

FORM_BYTES = MEGABYTE
"""What the form around the file may take."""


class UploadGate:
    """Admits the uploads of people with an account, one of each person and a few in all at a time, if there is room."""

    def __init__(self) -> None:
        self.max_bytes = settings.UPLOAD_MEGABYTES * MEGABYTE + FORM_BYTES
        self.bytes_under_way: dict[int, int] = {}
        """The announced size of each upload that this process is receiving, by user."""

    @asynccontextmanager
    async def admit(self, scope: dict[str, Any], length: int | None) -> AsyncIterator[None]:
        """Hold a place for this upload.

        Raises:
            BodyRefused: with the reason; a person without an account is sent to log in.
        """
        if scope["method"] != "POST":
            yield
            return
        if length is None:
            raise BodyRefused(411, "An upload has to announce its size (Content-Length). Nothing was stored.")
        owner_id = await in_thread(_check, scope, length, sum(self.bytes_under_way.values()))
        if owner_id in self.bytes_under_way:
            raise BodyRefused(429, "You are uploading a checkpoint already. Wait until it is done.", _soon())
        if len(self.bytes_under_way) >= settings.UPLOADS_AT_A_TIME:
            raise BodyRefused(429, "Others are uploading now. Nothing was stored. Try again in a minute.", _soon())
        self.bytes_under_way[owner_id] = length
        try:
            yield
        finally:
            del self.bytes_under_way[owner_id]


def _session_key(scope: dict[str, Any]) -> str:
    cookies = "; ".join(value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie")
    key = parse_cookie(cookies).get(settings.SESSION_COOKIE_NAME, "")
    return "" if UNSTORABLE.search(key) else key


def describe_refusal(scope: dict[str, Any], refusal: BodyRefused) -> tuple[str, bytes]:
    """A refusal for whoever sent the request: a problem for programs, plain text for browsers."""
    if not scope["path"].startswith(middleware.ROOT):
        return as_text(scope, refusal)
    return CONTENT_TYPE, problem(refusal.status, str(refusal)).content


def _sender(scope: dict[str, Any]) -> Viewer:
    """Who sends this request: the owner of its token, or of its session.

    Raises:
        BodyRefused: if the token does not exist, or may not upload.
    """
    header = next((value.decode("latin-1") for name, value in scope["headers"] if name == b"authorization"), "")
    if not header or not scope["path"].startswith(middleware.ROOT):
        return identify(_session_key(scope)).viewer
    token = viewer_of_token(header)
    if token is None:
        raise BodyRefused(401, UNKNOWN_TOKEN, {"www-authenticate": "Bearer"})
    if manager.scope not in token.scopes:
        raise BodyRefused(403, manager.missing_from(token))
    owner: User = token.user
    return owner


def _check(scope: dict[str, Any], own_bytes: int, bytes_under_way: int) -> int:
    """The id of the person, if they may upload now."""
    owner = _sender(scope)
    if not isinstance(owner, User) and scope["path"].startswith(middleware.ROOT):
        raise BodyRefused(401, NO_ACCOUNT, {"www-authenticate": "Bearer"})
    if not isinstance(owner, User):
        login = f"{reverse('accounts:login')}?{urlencode({'next': reverse('agents:upload')})}"
        raise BodyRefused(302, "Log in to upload a checkpoint.", {"location": login})
    try:
        uploads.check_admission(owner, own_bytes, bytes_under_way)
    except UploadRefused as refusal:
        raise BodyRefused(refusal.status, str(refusal), _soon() if refusal.status != 422 else None) from refusal
    return owner.pk


def _soon() -> dict[str, str]:
    return {"retry-after": "60"}
