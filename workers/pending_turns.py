"""Turns of people in slow environments, each in a task of its own beside the shows of the same process."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING

from django.conf import settings
from django.db import Error as DatabaseError

from apps.episodes.errors import EpisodeEnded, Refusal
from apps.episodes.models import Episode
from apps.episodes.operations import step
from apps.leases import LeaseLost
from apps.play import pending
from gem.core import Env, Step
from gem.errors import EnvironmentFailure, failure_of
from gem.sandbox import turns

if TYPE_CHECKING:
    from workers.play import Host

logger = logging.getLogger(__name__)

RETRY_SECONDS = 1.0
QUICK_SECONDS = 2.0
"""How long a turn is one of those that have just begun."""


def step_within(seconds: float, episode: Episode, env: Env, action: str) -> Step:
    """The answer of a slow environment. Programs that it still runs after so many seconds are ended."""
    with turns.within(seconds):
        return step(episode, env, action)


class PendingTurnRunner:
    """One turn of a person in a slow environment: step it, record what it answers or why it could not be played."""

    def __init__(self, host: Host, episode_id: str) -> None:
        self._host = host
        self._episode_id = episode_id
        self._began = monotonic()
        self.task = asyncio.create_task(self._run(), name=f"turn of {episode_id}")

    @property
    def is_quick(self) -> bool:
        """Whether it has just begun."""
        return monotonic() - self._began < QUICK_SECONDS

    async def _run(self) -> None:
        while True:
            try:
                await self._play()
                return
            except (LeaseLost, EpisodeEnded) as lost:
                logger.info("A turn of %s is not played here any longer: %s", self._episode_id, lost)
                return
            except DatabaseError as error:
                logger.warning("A turn of %s waits for Postgres: %s", self._episode_id, error)
                await asyncio.sleep(RETRY_SECONDS)

    async def _play(self) -> None:
        token, limit = self._host.token, settings.TURN_SECONDS
        try:
            claimed = await self._host.in_thread(pending.begin, self._episode_id, token)
            async with self._host.agent_threads.closing(claimed.env):
                stepped = await self._step(claimed, limit)
                await self._host.in_thread(pending.finish, claimed, token, stepped)
        except (LeaseLost, EpisodeEnded, DatabaseError):
            raise
        except TimeoutError:
            await self._refuse(f"The environment did not answer within {limit:g} s.")
        except Refusal as error:
            await self._refuse(str(error))
        except Exception as error:  # an environment may raise anything; the page says so, and other turns go on
            if not isinstance(error, EnvironmentFailure):
                logger.exception("A turn of %s cannot be played", self._episode_id)
            await self._refuse(failure_of(error, "environment").message)

    async def _step(self, claimed: pending.ClaimedTurn, limit: float) -> Step:
        """The environment's answer. Programs that it runs for longer than `limit` seconds are ended."""

        take = partial(step_within, limit, claimed.episode, claimed.env, claimed.action)
        began = monotonic()
        try:
            return await self._host.agent_threads.run(self._host.ledger.metered(claimed.owner_id, take), limit)
        finally:
            await self._host.in_thread(pending.note_time, claimed, monotonic() - began)

    async def _refuse(self, sentence: str) -> None:
        await self._host.in_thread(pending.refuse, self._episode_id, self._host.token, sentence)
