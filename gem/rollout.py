"""Agents meet environments: the only loop that plays episodes in bulk.

requests = [EpisodeRequest(i, "game:Sokoban-v0-easy", seed=i) for i in range(100)]
for record in rollout(make_agent("random"), requests):
    print(record.index, record.total_reward)
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Any

from gem import registry
from gem.agents.agent import Decision, Exchange, Player, Request
from gem.agents.asking import Asking
from gem.core import Env, Info, Step, check_step
from gem.errors import AgentFailure, EnvironmentFailure, InvalidArgument
from gem.factory import make_wrapped
from gem.records import EpisodeRecord, Identity, TurnRecord
from gem.seats import observation_for_seat, success
from gem.vector.base import AutoresetMode
from gem.vector.sync import SyncVectorEnv


@dataclass(frozen=True, slots=True)
class EpisodeRequest:
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
    repeat: int = 0
    """Which try at the seed this is, from 0: agents that draw by chance draw anew in each."""


def rollout(
    agent: Player, requests: Iterable[EpisodeRequest], *, num_envs: int = 16, opponent: Player | None = None
) -> Generator[EpisodeRecord, None, None]:
    """Play every request with `agent`, `num_envs` at a time, and yield each record when its episode ends.

    Where there are several seats, `agent` acts from `EpisodeRequest.seat` and `opponent` from the others; without an
    opponent the agent acts from all of them, and reads in each what that seat may read.

    An environment that raises gives a record with `failure`; the others go on. So does an agent that raises
    `AgentFailure`. An agent with `decide` (see `AsyncAgent`) is asked for all episodes at the same time, and none of
    them waits for another. `requests` is read as places become free, so it may be endless. A request's record does not
    depend on `num_envs`. Closing the generator cancels what agents are still asked. An agent's note on a
    decision, and what else it reports, is in the turn's `extra`.

    Raises:
        InvalidArgument: if `num_envs` is below 1, a request has arguments that its environment does not take or a seat
            that it does not have, or an agent returns something else than decisions.
        UnknownEnvironment: if a request names an environment that is not registered.
        AgentStopped: if an agent is of no further use.
    """
    if num_envs < 1:
        raise InvalidArgument(f"num_envs must be at least 1, not {num_envs}.")
    waiting = iter(requests)
    vector = SyncVectorEnv([], AutoresetMode.DISABLED)
    try:
        with Asking() as asking:
            yield from _play(asking, vector, waiting, [_Lane(vector) for _ in range(num_envs)], agent, opponent)
    finally:
        vector.close()


def _play(
    asking: Asking,
    vector: SyncVectorEnv,
    waiting: Iterator[EpisodeRequest],
    free: list[_Lane],
    agent: Player,
    opponent: Player | None,
) -> Iterator[EpisodeRecord]:
    """Ask for the lanes that wait, step those that were answered, and give free ones their next request."""
    lanes: dict[int, _Lane] = {}
    begun, failed = _begin(free, waiting)
    yield from failed
    lanes |= {lane.place: lane for lane in begun}
    asked = begun
    while lanes:
        for lane in asked:
            away = opponent is not None and lane.request.seat != lane.record.seat
            asking.ask(lane.place, opponent if away and opponent is not None else agent, lane.request)
        answers = sorted(asking.answers(), key=itemgetter(0))
        actions: list[str | None] = [None] * vector.num_envs
        for place, answer in answers:
            if isinstance(answer, Decision):
                actions[place] = answer.action
        steps = vector.step_each(actions)
        asked, free = [], []
        for place, answer in answers:
            lane = lanes[place]
            over = lane.take(answer, steps[place]) if isinstance(answer, Decision) else lane.break_off(answer)
            (free if over else asked).append(lane)
            if over:
                yield lane.record
        if free:
            begun, failed = _begin(free, waiting)
            yield from failed
            lanes = {place: lane for place, lane in lanes.items() if lane.busy}
            asked = sorted(asked + begun, key=lambda lane: lane.place)


def _begin(lanes: Sequence[_Lane], waiting: Iterator[EpisodeRequest]) -> tuple[list[_Lane], list[EpisodeRecord]]:
    """Give each lane its next request; the lanes that got one, and the records of requests that failed at once."""
    failed = []
    for lane in lanes:
        lane.busy = False
        for request in waiting:
            if not isinstance(request, EpisodeRequest):
                raise InvalidArgument(
                    f"An episode to play is an EpisodeRequest(0, 'game:...', seed=0), not {request!r:.80}."
                )
            if lane.begin(request):
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
    repeat: int = 0
    env: Env = field(init=False)
    record: EpisodeRecord = field(init=False)
    request: Request = field(init=False)
    past: dict[int, list[Exchange]] = field(default_factory=dict)
    """What each seat read and did so far."""

    def begin(self, request: EpisodeRequest) -> bool:
        """Reset for `request`, making another environment if it needs one; False if that failed."""
        setting = request.env_id, request.env_kwargs, request.wrappers
        if setting != self.setting:
            self._prepare(setting)
        observation, info = self.vector.reset_one(self.place, request.seed)
        failure = info.get("failure", "")
        if not isinstance(observation, str):
            failure = "The first observation is no text."
        self.busy = not failure
        version = registry.spec(request.env_id).version
        if not self.busy:
            identity = Identity(request.env_id, version, request.seed, request.env_kwargs, "", request.wrappers)
            self.record = EpisodeRecord(
                request.index, identity, "", {}, failure=failure, failed_by="environment", seat=request.seat
            )
            return False
        self.env = self.vector.env(self.place)
        identity = Identity(
            request.env_id, version, request.seed, request.env_kwargs, self.env.data_hash, request.wrappers
        )
        self.record = EpisodeRecord(
            request.index, identity, observation, info, max_turns=self.env.max_turns, seat=request.seat
        )
        if not 0 <= request.seat < self.env.seats:
            raise InvalidArgument(
                f"{request.env_id} has the seats 0 to {self.env.seats - 1}; there is no {request.seat}."
            )
        self.past, self.repeat = {}, request.repeat
        self._ask(observation, info)
        return True

    def take(self, decision: Decision, step: Step) -> bool:
        """Record a turn; whether the episode is over."""
        record = self.record
        if "failure" in step[-1]:
            return self._fail(step[-1]["failure"])
        try:
            observation, reward, terminated, truncated, info = check_step(step)
        except EnvironmentFailure as failure:
            return self._fail(str(failure))
        request = self.request
        action = decision.action
        kept = decision.kept if decision.note or decision.extra else {}
        record.turns.append(TurnRecord(action, observation, reward, info, request.seat, kept))
        self.past[request.seat].append(Exchange(request.observation, request.info, action))
        if terminated or truncated:
            record.terminated, record.truncated = terminated, truncated
            record.success = success(record.seat, info)
            return True
        self._ask(observation, info)
        return False

    def _fail(self, failure: str) -> bool:
        self.record.failure, self.record.failed_by = failure, "environment"
        return True

    def break_off(self, failure: AgentFailure) -> bool:
        """Record that the agent could not decide; the episode is over."""
        self.record.failure, self.record.failed_by = str(failure), "agent"
        return True

    def _ask(self, observation: str, info: Info) -> None:
        """Let the seat that is to act decide next, from what it may read."""
        seat = self.env.to_act[0]
        reading, own = observation_for_seat(seat, observation, info)
        past = self.past.get(seat)
        if past is None:
            past = self.past[seat] = []
        number = len(self.record.turns) + 1
        self.request = Request(
            self.env, reading, own, number, seat, past=past, episode=self.record.index, repeat=self.repeat
        )

    def _prepare(self, setting: _Setting) -> None:
        make = partial(make_wrapped, *setting)
        if self.place < 0:
            self.place = self.vector.add(make)
        else:
            self.vector.replace(self.place, make)
        self.setting = setting
