"""The honest visitor beside an attack: what is measured."""

from __future__ import annotations

import asyncio
import itertools
import time
from dataclasses import dataclass, field

from bench.hostile.client import Visitor

PAGES = ("/", "/environments/", "/play/watch/", "/episodes/", "/leaderboard/", "/play/new/", "/docs/")
SLOW_ENV_ID = "eval:MATH500"
ANSWER = r"\boxed{\frac{7}{3}}"
PAUSE_SECONDS = 0.3
"""How long a person looks at a page before the next click."""
PATIENCE_SECONDS = 120.0
POLL_SECONDS = 0.02


@dataclass
class Measured:
    """What the honest visitor waited for, in seconds."""

    pages: list[float] = field(default_factory=list)
    turns: list[float] = field(default_factory=list)
    """From the click to the recorded turn; `PATIENCE_SECONDS` for one that was not recorded by then."""


async def visit(visitor: Visitor, measured: Measured, until: float) -> None:
    """Read pages until the monotonic clock shows `until`."""
    for page in itertools.cycle(PAGES):
        if time.monotonic() > until:
            return
        answer = await visitor.get(page)
        if answer.status in (301, 302):
            answer = await visitor.get(answer.location)
        measured.pages.append(answer.seconds)
        await asyncio.sleep(PAUSE_SECONDS)


async def play(visitor: Visitor, key: str, measured: Measured, until: float) -> None:
    """Answer problems of a slow environment, one after the other, until the monotonic clock shows `until`.

    Args:
        key: of the visitor's session, in which episodes are begun here, without a request.
    """
    for seed in itertools.count():
        if time.monotonic() > until:
            return
        episode_id = await asyncio.to_thread(_begin, key, seed % 20)
        began = time.monotonic()
        fields = {"action": ANSWER, "expected_seq": 0, "as_written": "1"}
        await visitor.post(f"/play/{episode_id}/turn/", fields, page="/play/new/")
        while not await asyncio.to_thread(_is_recorded, episode_id) and time.monotonic() - began < PATIENCE_SECONDS:
            await asyncio.sleep(POLL_SECONDS)
        measured.turns.append(time.monotonic() - began)
        await asyncio.sleep(PAUSE_SECONDS)


def _begin(key: str, seed: int) -> str:
    from django.contrib.auth.models import AnonymousUser

    from apps.play import operations

    nobody = AnonymousUser()
    return str(operations.begin(SLOW_ENV_ID, seed=seed, user=nobody, visitor=key, visibility="unlisted").id)


def _is_recorded(episode_id: str) -> bool:
    from apps.episodes.models import Turn

    return Turn.objects.filter(episode_id=episode_id).exists()
