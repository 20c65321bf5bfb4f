"""What plays the episodes of a session: this process, or the workers."""

from __future__ import annotations

from typing import Any, Protocol

import gem
from apps.openenv.access import Caller
from apps.openenv.local import LocalHost
from apps.openenv.queued import QueuedHost
from gem.errors import GemError
from gem.openenv.wire import Observation, Reset, WireError


class Host(Protocol):
    """Plays the episodes of one session, one after the other. Errors that the client can read are `WireError`."""

    async def reset(self, request: Reset) -> Observation:
        """Begin an episode; one that is under way is given up."""
        ...

    async def step(self, action: str) -> Observation:
        """Take a turn."""
        ...

    def state(self) -> dict[str, Any]:
        """What a client may know of the episode."""
        ...

    async def close(self) -> None:
        """Give up the episode, and release everything."""
        ...


async def open_host(env_id: str, caller: Caller) -> Host:
    """The host for an environment.

    Raises:
        WireError: if the environment cannot be played on this machine.
    """
    spec = gem.spec(env_id)
    if spec.cost == "slow":
        return QueuedHost(env_id, caller)
    try:
        return await LocalHost.open(env_id, caller)
    except (GemError, ImportError) as error:
        raise WireError("FACTORY_ERROR", f"{env_id} cannot be played here: {error}") from error


def is_playable(env_id: str) -> bool:
    """Whether the packages and the sandbox that an environment needs are there."""
    spec = gem.spec(env_id)
    return not spec.missing_packages() and not spec.unavailable_reason()
