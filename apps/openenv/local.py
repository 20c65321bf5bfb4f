"""A fast environment, stepped in this process."""

from __future__ import annotations

import logging
from typing import Any, Self

import gem
from apps.episodes.text import storable
from apps.openenv.access import Caller
from apps.openenv.pace import pace
from apps.openenv.recording import Underway, recorder
from gem.openenv.session import Session
from gem.openenv.wire import Observation, Reset, WireError

logger = logging.getLogger(__name__)


class LocalHost:
    """Plays a fast environment; see `apps.openenv.hosts.Host`."""

    def __init__(self, session: Session, caller: Caller) -> None:
        self._session = session
        self._caller = caller
        self._underway: Underway | None = None
        """The episode, while it is to be recorded."""

    @classmethod
    async def open(cls, env_id: str, caller: Caller) -> Self:
        """Make the environment.

        Raises:
            GemError, ImportError: if it cannot be made on this machine.
        """
        env = await pace.call((env_id, "make"), gem.make, env_id)
        return cls(Session(env_id, env), caller)

    async def reset(self, request: Reset) -> Observation:
        """See `Host.reset`."""
        session, account = self._session, self._caller.account
        self._hand_over()
        key = ""
        session.keeps_record = account is not None and request.is_recorded
        if session.keeps_record:
            await recorder.room()
            key = recorder.draw_id()
            request = request._replace(episode_id=request.episode_id or key)  # the client finds it by this name
        try:
            turn = await pace.call((session.env_id, "reset"), session.reset, request)
        except WireError:
            raise
        except Exception as error:  # an environment may fail in any way, and the others go on
            raise self._failed(error) from error
        if account is not None and session.record is not None:
            self._underway = recorder.begin(key, session.record, account.pk)
        return turn

    async def step(self, action: str) -> Observation:
        """See `Host.step`; what Postgres cannot store is replaced before the turn is played, as everywhere."""
        session = self._session
        try:
            return await pace.call((session.env_id, "step"), session.step, storable(action))
        except WireError:
            raise
        except Exception as error:  # as above
            raise self._failed(error) from error
        finally:
            if session.is_over:
                self._hand_over()

    def state(self) -> dict[str, Any]:
        """See `Host.state`."""
        return self._session.state()

    async def close(self) -> None:
        """See `Host.close`."""
        self._hand_over()
        self._session.close()

    def _hand_over(self) -> None:
        """Let the episode be recorded as it is now."""
        underway, self._underway = self._underway, None
        if underway is not None:
            recorder.end(underway, is_given_up=not self._session.is_over)

    def _failed(self, error: Exception) -> WireError:
        session = self._session
        session.fail(f"{type(error).__name__}: {error}")
        logger.exception("%s failed in an OpenEnv session", session.env_id)
        return WireError("EXECUTION_ERROR", "The environment failed, and the episode is over. Send a reset.")
