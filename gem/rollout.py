"""Agents meet environments: the only loop that plays episodes in bulk.

slots = [Slot(i, "game:Sokoban-v0-easy", seed=i) for i in range(100)]
for record in rollout(make_agent("random"), slots):
    print(record.index, record.total_reward)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from gem import registry
from gem.agents.agent import Agent, Decision, Request
from gem.core import Env, Info, Step
from gem.errors import InvalidArgument
from gem.replay import EpisodeRecord, Identity, TurnRecord, wrapped
from gem.seats import perceived, success
from gem.vector.base import AutoresetMode
from gem.vector.sync import SyncVectorEnv


@dataclass(frozen=True, slots=True)
class Slot:
    """One episode to play."""

    index: int
    """Its place in the batch; the record carries it."""
    env_id: str
    seed: int
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    wrappers: Sequence[Mapping[str, Any]] = ()
    """Plain data, innermost first (see `gem.wrappers.wrap`)."""
    seat: int = 0
    """Where the agent sits if there are several seats: the record's return and success are those of this one."""


def rollout(
    agent: Agent, slots: Iterable[Slot], *, num_envs: int = 16, opponent: Agent | None = None
) -> Iterator[EpisodeRecord]:
    """Play every slot with `agent`, `num_envs` at a time, and yield each record when its episode ends.

    Where there are several seats, `agent` acts from `Slot.seat` and `opponent` from the others; without an opponent
    the agent acts from all of them, and reads in each what that seat may read.

    An environment that raises gives a record with `failure`; the others go on. `slots` is read as places become
    free, so it may be endless. A slot's record does not depend on `num_envs`. An agent's note on a decision is kept
    in the turn's `info["note"]`.

    Raises:
        InvalidArgument: if `num_envs` is below 1, or a slot has arguments that its environment does not take, or
            a seat that it does not have.
        UnknownEnvironment: if a slot names an environment that is not registered.
    """
    if num_envs < 1:
        raise InvalidArgument(f"num_envs must be at least 1, not {num_envs}.")
    waiting = iter(slots)
    vector = SyncVectorEnv([], AutoresetMode.DISABLED)
    lanes = [_Lane(vector) for _ in range(num_envs)]
    try:
        lanes, failed = _begin(lanes, waiting)
        yield from failed
        while lanes:
            decisions = _decide(lanes, agent, opponent)
            actions: list[str | None] = [None] * vector.num_envs
            for lane, decision in zip(lanes, decisions, strict=True):
                actions[lane.place] = decision.action
            steps = vector.step_each(actions)
            free = []
            for lane, decision in zip(lanes, decisions, strict=True):
                if lane.take(decision, steps[lane.place]):
                    free.append(lane)
                    yield lane.record
            if free:
                _, failed = _begin(free, waiting)
                yield from failed
                lanes = [lane for lane in lanes if lane.busy]
    finally:
        vector.close()


def _decide(lanes: Sequence[_Lane], agent: Agent, opponent: Agent | None) -> list[Decision]:
    """One decision for each lane, of whoever sits where a turn is to be taken; each agent is asked once."""
    if opponent is None:
        return agent.act([lane.request for lane in lanes])
    sides: list[list[_Lane]] = [[], []]
    for lane in lanes:
        sides[lane.request.seat != lane.record.seat].append(lane)
    found: dict[int, Decision] = {}
    for player, those in zip((agent, opponent), sides, strict=True):
        if those:
            decisions = player.act([lane.request for lane in those])
            found |= {lane.place: decision for lane, decision in zip(those, decisions, strict=True)}
    return [found[lane.place] for lane in lanes]


def _begin(lanes: Sequence[_Lane], waiting: Iterator[Slot]) -> tuple[list[_Lane], list[EpisodeRecord]]:
    """Give each lane its next slot; the lanes that got one, and the records of slots that failed at once."""
    failed = []
    for lane in lanes:
        lane.busy = False
        for slot in waiting:
            if lane.begin(slot):
                break
            failed.append(lane.record)
    return [lane for lane in lanes if lane.busy], failed


_Setting = tuple[str, Mapping[str, Any], Sequence[Mapping[str, Any]]]


@dataclass(slots=True)
class _Lane:
    """One place of the vector and the episode in it."""

    vector: SyncVectorEnv
    place: int = -1
    busy: bool = False
    setting: _Setting | None = None
    env: Env = field(init=False)
    record: EpisodeRecord = field(init=False)
    request: Request = field(init=False)

    def begin(self, slot: Slot) -> bool:
        """Reset for `slot`, making another environment if it needs one; False if that failed."""
        setting = slot.env_id, slot.env_kwargs, slot.wrappers
        if setting != self.setting:
            self._prepare(setting)
        observation, info = self.vector.reset_one(self.place, slot.seed)
        self.busy = "failure" not in info
        version = registry.spec(slot.env_id).version
        if not self.busy:
            identity = Identity(slot.env_id, version, slot.seed, slot.env_kwargs, "", slot.wrappers)
            self.record = EpisodeRecord(slot.index, identity, "", {}, failure=info["failure"], seat=slot.seat)
            return False
        self.env = self.vector.env(self.place)
        identity = Identity(slot.env_id, version, slot.seed, slot.env_kwargs, self.env.data_hash, slot.wrappers)
        self.record = EpisodeRecord(
            slot.index, identity, observation, info, max_turns=self.env.max_turns, seat=slot.seat
        )
        if not 0 <= slot.seat < self.env.seats:
            raise InvalidArgument(f"{slot.env_id} has the seats 0 to {self.env.seats - 1}; there is no {slot.seat}.")
        self._ask(observation, info)
        return True

    def take(self, decision: Decision, step: Step) -> bool:
        """Record a turn; whether the episode is over."""
        observation, reward, terminated, truncated, info = step
        record = self.record
        if "failure" in info:
            record.failure = info["failure"]
            return True
        if decision.note:
            info = {**info, "note": decision.note}
        record.turns.append(TurnRecord(decision.action, observation, reward, info, self.request.seat))
        if terminated or truncated:
            record.terminated, record.truncated = terminated, truncated
            record.success = success(record.seat, info)
            return True
        self._ask(observation, info)
        return False

    def _ask(self, observation: str, info: Info) -> None:
        """Let the seat that is to act decide next, from what it may read."""
        seat = self.env.to_act[0]
        reading, own = perceived(seat, observation, info)
        self.request = Request(self.env, reading, own, len(self.record.turns) + 1, seat, self.record.index)

    def _prepare(self, setting: _Setting) -> None:
        make = partial(wrapped, *setting)
        if self.place < 0:
            self.place = self.vector.add(make)
        else:
            self.vector.replace(self.place, make)
        self.setting = setting
