"""A slow environment: its episodes are those of the site, and its turns wait for a worker as those of pages do."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from apps.episodes.errors import Refusal
from apps.episodes.models import Episode, PendingTurn, Turn
from apps.live.threads import DatabaseThreads
from apps.openenv.access import Caller
from apps.play import operations
from apps.play.starting.limits import check_start_from
from apps.visibility import Visibility
from gem.errors import GemError
from gem.openenv.session import NOT_BEGUN, OVER
from gem.openenv.wire import Observation, Reset, WireError

FIRST_LOOK_SECONDS, LONGEST_LOOK_SECONDS = 0.02, 0.5
"""How long to wait before looking for the result of a turn, at first and at most."""
TURN_SECONDS = 55.0
"""How long a reply may take: clients wait for 60 s."""
in_thread = DatabaseThreads(2, "openenv").run


class _Played(NamedTuple):
    """A turn that a worker has played, or why there is none."""

    episode: Episode
    turn: Turn | None
    problem: str = ""


class QueuedHost:
    """Plays a slow environment through the site's own operations; see `apps.openenv.hosts.Host`."""

    def __init__(self, env_id: str, caller: Caller) -> None:
        self._env_id = env_id
        self._caller = caller
        self._episode: Episode | None = None
        self._name = ""
        """The name of the episode for the client: its own, or the id of the row."""
        self._total_reward = 0.0

    async def reset(self, request: Reset) -> Observation:
        """See `Host.reset`."""
        await self._give_up()
        episode = await self._do(self._begin, request.seed)
        self._episode, self._name, self._total_reward = episode, request.named(episode.pk), 0.0
        return self._observation(episode, episode.first_observation, episode.first_info, None)

    async def step(self, action: str) -> Observation:
        """See `Host.step`."""
        episode = self._episode
        if episode is None or episode.over:
            raise WireError("EXECUTION_ERROR", NOT_BEGUN if episode is None else OVER)
        seen = episode.turn_count
        self._episode = await self._do(self._take_turn, episode, action)
        played = await self._wait(episode.pk, seen)
        self._episode = episode = played.episode
        if played.turn is None:
            reason = played.problem or episode.failure or "the turn was not played"
            raise WireError("EXECUTION_ERROR", f"The turn was not played: {reason}")
        self._total_reward += played.turn.reward
        return self._observation(episode, played.turn.observation, played.turn.info, played.turn.reward)

    def state(self) -> dict[str, Any]:
        """See `Host.state`."""
        episode = self._episode
        return {
            "episode_id": self._name or None,
            "step_count": episode.turn_count if episode else 0,
            "env_id": self._env_id,
            "seed": episode.seed if episode else None,
            "done": bool(episode and episode.over),
            "total_reward": self._total_reward,
            "max_turns": episode.max_turns if episode else 0,
        }

    async def close(self) -> None:
        """See `Host.close`."""
        await self._give_up()

    async def _do(self, call: Any, *args: Any) -> Any:
        """Call an operation in a thread; its refusals become errors of the protocol."""
        try:
            return await in_thread(call, *args)
        except Refusal as refusal:
            raise WireError("EXECUTION_ERROR", str(refusal)) from refusal
        except (GemError, ImportError) as error:
            raise WireError("EXECUTION_ERROR", str(error)) from error

    def _begin(self, seed: int | None) -> Episode:
        if self._caller.account is None:
            check_start_from(self._caller.network)
        return operations.begin(
            self._env_id,
            seed=seed,
            user=self._caller.user,
            visitor=self._caller.visitor,
            visibility=Visibility.PRIVATE,
        )

    def _take_turn(self, episode: Episode, action: str) -> Episode:
        return operations.take_turn(
            episode.pk,
            action,
            expected_seq=episode.seq,
            user=self._caller.user,
            visitor=self._caller.visitor,
            address=self._caller.address,
            as_written=True,
        )

    async def _wait(self, episode_id: str, seen: int) -> _Played:
        """Wait until a worker has played the turn after `seen` turns, or could not."""
        pause = FIRST_LOOK_SECONDS
        try:
            async with asyncio.timeout(TURN_SECONDS):
                while True:
                    played = await in_thread(_look, episode_id, seen)
                    if played is not None:
                        return played
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, LONGEST_LOOK_SECONDS)
        except TimeoutError as error:
            raise WireError(
                "EXECUTION_ERROR",
                f"No worker has played the turn within {TURN_SECONDS:.0f} s. It is still in the queue; the episode can "
                "be read on the site.",
            ) from error

    async def _give_up(self) -> None:
        """End an episode that is under way."""
        episode, self._episode = self._episode, None
        if episode is not None and not episode.over:
            try:
                await in_thread(operations.abandon, episode.pk, user=self._caller.user, visitor=self._caller.visitor)
            except Refusal:
                return  # it has ended meanwhile

    def _observation(self, episode: Episode, text: str, info: dict[str, Any], reward: float | None) -> Observation:
        to_act = () if episode.over else (episode.acting,)
        return Observation(
            text, info, reward, episode.terminated, episode.truncated, to_act, episode.seed, self._name or episode.pk
        )


def _look(episode_id: str, seen: int) -> _Played | None:
    """The turn after `seen` turns; None while a worker has yet to play it.

    The queue is read first: a turn leaves it in the transaction that records it.
    """
    pending = PendingTurn.objects.filter(episode=episode_id).first()
    episode = Episode.objects.get(pk=episode_id)
    if episode.turn_count > seen:
        return _Played(episode, Turn.objects.get(episode=episode, number=seen + 1))
    if episode.over:
        return _Played(episode, None)
    if pending is None or pending.problem:
        return _Played(episode, None, pending.problem if pending else "it is not in the queue any more.")
    return None
