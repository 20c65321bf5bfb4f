"""Uploads are decided by their headers: who sends them, how large they are, and whether there is room."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import parse_cookie
from django.urls import reverse

from apps.accounts.models import User, Viewer
from apps.accounts.rate_limit import take
from apps.agents import uploads
from apps.agents.uploads import MEGABYTE, UploadRefused
from apps.api import middleware
from apps.api.callers import manager
from apps.api.problems import CONTENT_TYPE, NO_ACCOUNT, UNKNOWN_TOKEN, problem
from apps.api.tokens import viewer_of_token
from apps.leaderboard.challenges import receiving
from apps.live.session_user import identify
from apps.live.threads import in_thread
from apps.reported import reading_files
from apps.spec_forms import UNSTORABLE
from gemweb.bodies import Body, BodyRefused, as_text

FORM_BYTES = MEGABYTE
"""What the form around the file may take."""
SAFE_BYTES_PER_SECOND = 512 * 1024
"""An upload that is as fast keeps its place while others wait. A line of 5 Mbit/s sends 600 KiB/s."""
SAFE_SECONDS = 10
"""How long every upload keeps its place, however slow."""


@dataclass(frozen=True, slots=True)
class UploadKind:
    """What is uploaded to an address."""

    megabytes: int
    """The most that one upload may have."""
    check: Callable[[User, int, int], None]
    """Checks by the size of an upload, and of all others under way, whether a person may send it."""
    under_way: str
    """Says that the person is sending one already, as the beginning of a sentence."""
    log_in: str
    page: str
    """The name of the page with the form."""


CHECKPOINTS = UploadKind(
    settings.UPLOAD_MEGABYTES,
    uploads.check_admission,
    "You are uploading a checkpoint already.",
    "Log in to upload a checkpoint.",
    "agents:upload",
)
RESULTS = UploadKind(
    settings.RESULT_MEGABYTES,
    receiving.check_admission,
    "You are sending episodes already.",
    "Log in to send episodes.",
    "leaderboard:challenges",
)


REPORTS = UploadKind(
    settings.RESULT_MEGABYTES,
    reading_files.check_admission,
    "You are sending a file already.",
    "Log in to report an evaluation.",
    "reported:new",
)


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """An upload that this process is receiving."""

    length: int
    """The announced size in bytes."""
    body: Body

    @property
    def bytes_per_second(self) -> float:
        """How fast it has come so far."""
        return self.body.received_bytes / max(1.0, self.body.age)

    @property
    def is_safe(self) -> bool:
        """Whether it keeps its place while others wait."""
        is_young = self.body.age < SAFE_SECONDS
        return is_young or self.body.is_complete or self.bytes_per_second >= SAFE_BYTES_PER_SECOND


class UploadGate:
    """Admits the uploads of people with an account, one of each person and a few in all at a time, if there is room.

    If all places are taken, the slowest upload gives up its place, unless it is fast enough.
    """

    def __init__(self, kind: UploadKind = CHECKPOINTS) -> None:
        self.kind = kind
        self.max_bytes = kind.megabytes * MEGABYTE + FORM_BYTES
        self.places: dict[int, Place] = {}
        """By user."""

    @asynccontextmanager
    async def admit(self, scope: dict[str, Any], length: int | None, body: Body) -> AsyncIterator[None]:
        """Hold a place for this upload, and count it.

        Raises:
            BodyRefused: with the reason; a person without an account is sent to log in.
        """
        if length is None:
            raise BodyRefused(411, "An upload has to announce its size (Content-Length). Nothing was stored.")
        bytes_under_way = sum(place.length for place in self.places.values())
        owner = await in_thread(_check, self.kind, scope, length, bytes_under_way)
        if owner.pk in self.places:
            raise BodyRefused(429, f"{self.kind.under_way} Wait until it is done.", _soon())
        if len(self.places) >= settings.UPLOADS_AT_A_TIME:
            self._free_slowest()
        place = self.places[owner.pk] = Place(length, body)
        try:
            wait = await in_thread(take, *uploads.rate_limit_of(owner))
            if wait > 0:
                raise BodyRefused(429, uploads.too_often(wait), {"retry-after": str(math.ceil(wait))})
            yield
        finally:
            if self.places.get(owner.pk) is place:
                del self.places[owner.pk]

    def _free_slowest(self) -> None:
        """End the slowest upload, so that somebody else gets its place.

        Raises:
            BodyRefused: if all are fast enough.
        """
        unsafe = [owner_id for owner_id, place in self.places.items() if not place.is_safe]
        if not unsafe:
            raise BodyRefused(429, "Others are uploading now. Nothing was stored. Try again in a minute.", _soon())
        slowest = min(unsafe, key=lambda owner_id: self.places[owner_id].bytes_per_second)
        sentence = (
            "This upload was slow, and others were waiting for its place. Nothing was stored. Send it again when fewer "
            f"people upload, or over a connection with at least {SAFE_BYTES_PER_SECOND // 1024} KiB/s."
        )
        self.places.pop(slowest).body.refuse(BodyRefused(429, sentence, _soon()))


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


def _check(kind: UploadKind, scope: dict[str, Any], own_bytes: int, bytes_under_way: int) -> User:
    """The person, if they may upload now."""
    owner = _sender(scope)
    if not isinstance(owner, User) and scope["path"].startswith(middleware.ROOT):
        raise BodyRefused(401, NO_ACCOUNT, {"www-authenticate": "Bearer"})
    if not isinstance(owner, User):
        login = f"{reverse('accounts:login')}?{urlencode({'next': reverse(kind.page)})}"
        raise BodyRefused(302, kind.log_in, {"location": login})
    try:
        kind.check(owner, own_bytes, bytes_under_way)
    except UploadRefused as refusal:
        raise BodyRefused(refusal.status, str(refusal), _soon() if refusal.status != 422 else None) from refusal
    return owner


def _soon() -> dict[str, str]:
    return {"retry-after": "60"}
