"""Tools that play an episode turn by turn: every one of them needs a token, and is recorded as on the pages."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from apps.mcp.tool import Result, Tool
from gem.client import AsyncClient
from gem.client.remote_env import FIRST_PAUSE, LONGEST_PAUSE, PAUSE_GROWTH, is_over, must_wait, own_reward
from gem.client.schemas import Episode, Turn
from gem.client.schemas.base import Seed, Visibility
from gem.errors import GemError
from gem.validation.whole import Whole
from gem.wrappers.observation_wrapper import as_message

WAIT_SECONDS = 50.0
"""How long a call waits for workers and for other seats: many clients give up after 60 s."""
EpisodeId = Annotated[str, Field(max_length=40)]


class Reading(BaseModel):
    """An episode as its player sees it now."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    episode_id: str
    env_id: str
    seed: int | None
    """Null while it is a secret."""
    turn: int
    """The number of turns that were played."""
    max_turns: int
    text: str
    """Everything to read now."""
    reward: float | None
    """What the last call has earned; null where it has played nothing."""
    total_reward: float | None
    terminated: bool
    truncated: bool
    """Whether the turn limit ended it."""
    done: bool
    success: bool | None
    """Whether it was solved; null before the end, and where nothing can be solved."""
    your_turn: bool
    """Whether the next action is yours. If it is not and the episode is not over, call `state` after a while."""
    info: dict[str, Any]
    """What else the environment says."""
    url: str
    """Its page, where people can watch and replay it."""


class Reset(Tool):
    """Begin an episode of an environment. The result says the rules and the form of actions; then play with step."""

    name: ClassVar[str] = "reset"
    answer: ClassVar[type[BaseModel]] = Reading
    only_reads: ClassVar[bool] = False

    env_id: Annotated[str, Field(max_length=120)]
    """An id of list_environments, such as game:GuessTheNumber-v0-easy."""
    seed: Seed | None = None
    """The same seed and actions give the same episode. Drawn if it is left out."""
    opponent: str | None = None
    """In games of several seats: the agent in the others, such as random or expert."""
    seat: Annotated[Whole, Field(ge=0)] | None = None
    """In games of several seats: your own seat, from 0; drawn if it is left out."""
    tools: Annotated[list[str], Field(max_length=20)] = []
    """Tools of the site that actions may call before an answer, such as python; the result says how."""
    visibility: Visibility | None = None
    """Who may see the episode; without it, what your account says."""

    async def run(self, client: AsyncClient) -> Result:
        """See `Tool.run`."""
        episode = await client.episodes.begin(
            self.env_id,
            seed=self.seed,
            opponent=self.opponent,
            seat=self.seat,
            tools=self.tools,
            visibility=self.visibility,
        )
        return _result(await _wait(client, episode), None)


class Step(Tool):
    """Play your action in an episode. Returns what there is to read then, the reward, and whether it is over."""

    name: ClassVar[str] = "step"
    answer: ClassVar[type[BaseModel]] = Reading
    only_reads: ClassVar[bool] = False

    episode_id: EpisodeId
    """From the result of reset."""
    action: str
    """The text that contains the action, in the form that the rules ask for."""

    async def run(self, client: AsyncClient) -> Result:
        """See `Tool.run`."""
        before = await _wait(client, await client.episodes.get(self.episode_id))
        played = await client.episodes.take_turn(before.id, self.action, expected_seq=before.seq, as_written=True)
        episode = await _wait(client, played.episode)
        turns = list(played.turns)
        if episode.seq != played.episode.seq:  # others have acted since
            turns = [turn async for turn in client.episodes.turns(episode.id, after=before.turn_count)]
        if not turns and not must_wait(episode):
            raise GemError(episode.problem or episode.failure or "The turn was not played.")
        seat = _seat_of(episode)
        return _result(episode, sum(own_reward(turn, seat) for turn in turns) if turns else None, turns)


class State(Tool):
    """Say how an episode stands, without playing. Also reads the episodes of others, if they are public."""

    name: ClassVar[str] = "state"
    answer: ClassVar[type[BaseModel]] = Reading

    episode_id: EpisodeId
    """From the result of reset, or from the address of the page of an episode."""

    async def run(self, client: AsyncClient) -> Result:
        """See `Tool.run`."""
        return _result(await client.episodes.get(self.episode_id), None)


class Abandon(Tool):
    """Give up an episode that you play. It ends without a result, and can still be read."""

    name: ClassVar[str] = "abandon"
    answer: ClassVar[type[BaseModel]] = Reading
    only_reads: ClassVar[bool] = False

    episode_id: EpisodeId
    """From the result of reset."""

    async def run(self, client: AsyncClient) -> Result:
        """See `Tool.run`."""
        return _result(await client.episodes.abandon(self.episode_id), None)


async def _wait(client: AsyncClient, episode: Episode) -> Episode:
    """The episode when the caller can act or it is over, or as it is after `WAIT_SECONDS`."""
    pause, until = FIRST_PAUSE, time.monotonic() + WAIT_SECONDS
    while must_wait(episode) and time.monotonic() < until and _is_played(episode):
        await asyncio.sleep(pause)
        pause = min(pause * PAUSE_GROWTH, LONGEST_PAUSE)
        episode = await client.episodes.get(episode.id)
    return episode


def _is_played(episode: Episode) -> bool:
    """Whether the caller has a seat, so that there is something to wait for."""
    return any(seat.mine for seat in episode.seats)


def _seat_of(episode: Episode) -> int:
    return next((seat.number for seat in episode.seats if seat.mine), 0)


def _result(episode: Episode, reward: float | None, turns: list[Turn] | None = None) -> Result:
    seat = next((seat for seat in episode.seats if seat.number == _seat_of(episode)), None)
    reading = Reading(
        episode_id=episode.id,
        env_id=episode.env_id,
        seed=episode.seed,
        turn=episode.turn_count,
        max_turns=episode.max_turns,
        text=as_message(episode.observation, episode.info),
        reward=reward,
        total_reward=seat.total_reward if seat else None,
        terminated=episode.terminated,
        truncated=episode.truncated,
        done=is_over(episode),
        success=episode.success if is_over(episode) else None,
        your_turn=episode.your_turn and not must_wait(episode),
        info=episode.info,
        url=episode.url,
    )
    return Result([reading.text, _in_words(episode, reading)], reading)


def _in_words(episode: Episode, reading: Reading) -> str:
    """A line about the episode, for agents that read the text alone."""
    limit = f" of {episode.max_turns}" if episode.max_turns else ""
    parts = [f"Episode {reading.episode_id}, {reading.turn}{limit} turns played."]
    if reading.reward is not None:
        parts.append(f"Reward: {reading.reward:g}.")
    if episode.failure:
        parts.append(f"The environment failed: {episode.failure}")
    elif reading.done:
        ended = {True: " and was solved", False: " and was not solved", None: ""}[reading.success]
        parts.append(f"The episode is over{ended}.")
    elif episode.problem:
        parts.append(f"The last turn was not played: {episode.problem}")
    elif not reading.your_turn and _is_played(episode):
        parts.append("It is not your turn yet: a worker or another seat has to act. Call state after a while.")
    return " ".join(parts)
