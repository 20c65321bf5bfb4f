"""The honest visitor beside an attack: what is measured."""

from __future__ import annotations

import asyncio
import itertools
import re
import time
from dataclasses import dataclass, field

from bench.hostile.client import Visitor

PAGES = ("/", "/environments/", "/play/watch/", "/episodes/", "/leaderboard/", "/play/new/", "/docs/")
SLOW_ENV_ID = "eval:MATH500"
ANSWER = r"\boxed{\frac{7}{3}}"
PAUSE_SECONDS, TURN_PAUSE_SECONDS = 0.3, 3.0
"""How long a person looks at a page before the next click, and at a problem before the answer to it."""
PATIENCE_SECONDS = 120.0
POLL_SECONDS = 0.02


@dataclass
class Measured:
    """What the honest visitor waited for, in seconds."""

    pages: list[float] = field(default_factory=list)
    """Pages that were opened; `PATIENCE_SECONDS` for each that did not open."""
    starts: list[float] = field(default_factory=list)
    """Forms that begin an episode; `PATIENCE_SECONDS` for each that began none."""
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
        measured.pages.append(answer.seconds if answer.status == 200 else PATIENCE_SECONDS)
        await asyncio.sleep(PAUSE_SECONDS)


async def play(visitor: Visitor, measured: Measured, until: float) -> None:
    """Answer problems of a slow environment, one after the other, until the monotonic clock shows `until`."""
    for seed in itertools.count():
        if time.monotonic() > until:
            return
        begun = await visitor.post("/play/new/", {"env_id": SLOW_ENV_ID, "seed": seed % 20}, page="/play/new/")
        named = re.search(r"/episodes/(\w+)/", begun.location)
        measured.starts.append(begun.seconds if named else PATIENCE_SECONDS)
        if named is None:
            await asyncio.sleep(TURN_PAUSE_SECONDS)
            continue
        episode_id = named[1]
        await asyncio.sleep(TURN_PAUSE_SECONDS)
        began = time.monotonic()
        fields = {"action": ANSWER, "expected_seq": 0, "as_written": "1"}
        await visitor.post(f"/play/{episode_id}/turn/", fields, page="/play/new/")
        while not await asyncio.to_thread(_is_recorded, episode_id) and time.monotonic() - began < PATIENCE_SECONDS:
            await asyncio.sleep(POLL_SECONDS)
        measured.turns.append(time.monotonic() - began)


def _is_recorded(episode_id: str) -> bool:
    from apps.episodes.models import Turn

    return Turn.objects.filter(episode_id=episode_id).exists()
