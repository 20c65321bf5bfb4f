"""The rollout loop: agents play episodes in many environments at the same time, and every episode becomes a record.

requests = [EpisodeRequest(i, "game:Sokoban-v0-easy", seed=i) for i in range(100)]
for record in rollout(make_agent("random"), requests):
    print(record.index, record.total_reward)
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from operator import itemgetter
from typing import Any, Literal, get_args

from gem import registry
from gem.agents.agent import AnyAgent, Decision, Exchange, Request
from gem.agents.decision_queue import DecisionQueue, RequestOutcome
from gem.core import Env, Info, State, Step
from gem.errors import (
    BudgetUsedUp,
    EnvironmentFailure,
    EpisodeLimitReached,
    Failure,
    InvalidArgument,
    Side,
    failure_of,
)
from gem.factory import make_wrapped
from gem.records import EpisodeRecord, Identity, TurnRecord
from gem.seats import observation_for_seat, success
from gem.validation.values import check_seed, check_step
from gem.vector.base import AutoresetMode
from gem.vector.sync import SyncVectorEnv, ThreadVectorEnv

Backend = Literal["sync", "threads"]
"""How environments are stepped: one after the other, or at the same time in threads."""


@dataclass(frozen=True, slots=True)
class Start:
    """A turn of an episode from which another one continues, instead of beginning with a reset.

    The record has only the turns from there on, and what was read last before them as its first observation and info.
    """

    state: State
    """The state of an equal environment, from its `get_state`; it is not changed."""
    observation: str
    info: Info
    turn: int = 0
    """The number of turns that were taken before."""
    past: Sequence[Exchange] = ()
    """The earlier turns of the seat that acts."""
    action: str | None = None
    """The first action, if the agent does not choose it."""
    draw_key: int = 0
    """See `Env.draw_anew`; with 0, chance continues as it would have."""


@dataclass(frozen=True, slots=True)
class EpisodeRequest:
    """One episode to play."""

    index: int
    """The place of the episode in its batch; the record has it as well."""
    env_id: str
    seed: int
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    wrappers: Sequence[Mapping[str, Any]] = ()
    """The wrappers as plain data, innermost first (see `gem.wrappers.wrap`)."""
    seat: int = 0
    """The seat of the agent, if there are several; the return and the success of the record are those of this seat."""
    repeat: int = 0
    """The number of this try at the seed, from 0. Agents that sample at random do so anew in every try."""
    start: Start | None = None
    """The turn from which the episode continues; None for one that begins with a reset."""


def rollout(
    agent: AnyAgent,
    requests: Iterable[EpisodeRequest],
    *,
    num_envs: int | Callable[[], int] = 16,
    opponent: AnyAgent | None = None,
    backend: Backend = "sync",
    broken_off: Callable[[int], str] | None = None,
) -> Generator[EpisodeRecord, None, None]:
    """Play every request with `agent`, `num_envs` at a time, and yield each record when its episode ends.

    In an environment with several seats, `agent` acts from `EpisodeRequest.seat` and `opponent` from the others.
    Without an opponent the agent acts from all of them, and reads for each seat what that seat may read.

    An environment that raises an error gives a record with `failure`, and so does an agent that raises `AgentFailure`;
    the other episodes continue. Two of these errors are no failures: an episode that reaches its limit of tokens or
    money ends there unsolved (`EpisodeRecord.cut`), and one that a used-up budget cuts off is `failed_by` "budget",
    which is no result. An `AsyncAgent` decides for all episodes at the same time, and no episode waits for another.
    `requests` is read as environments become free, so it may be endless. The record of a request does not depend on
    `num_envs` or `backend`. Closing the generator cancels decisions that are still pending. The note of a decision and
    everything else that the agent reports about it is in `TurnRecord.extra`.

    Args:
        num_envs: how many episodes are played at a time. A function is asked before each round of turns; if it returns
            less than before, no further episode begins until so many have ended.
        backend: how environments are stepped: one after the other, or at the same time in threads, which is faster if
            they wait for tools, sandboxes or servers.
        broken_off: returns before each turn why the episode with this index ends here, as a sentence, or "" if it
            continues. It raises `BudgetUsedUp` if there is no budget for the turn.

    Raises:
        InvalidArgument: if `num_envs` is below 1 or `backend` is unknown, if a request has no seed, arguments that its
            environment does not take or a seat that it does not have, or if an agent returns something other than
            decisions.
        UnknownEnvironment: if a request names an environment that is not registered.
        AgentStopped: if an agent cannot be used any longer.
    """
    if backend not in get_args(Backend):
        raise InvalidArgument(f"backend is one of {', '.join(get_args(Backend))}, not {backend!r:.40}.")
    if not callable(num_envs):
        if not hasattr(num_envs, "__index__") or num_envs < 1:
            raise InvalidArgument(f"num_envs must be a whole number and at least 1, not {num_envs!r:.40}.")
        num_envs = repeat(num_envs).__next__
    vector = (
        ThreadVectorEnv([], AutoresetMode.DISABLED, num_threads=num_envs())
        if backend == "threads"
        else SyncVectorEnv([], AutoresetMode.DISABLED)
    )
    try:
        with DecisionQueue() as queue:
            yield from _play(queue, vector, iter(requests), num_envs, agent, opponent, broken_off)
    finally:
        vector.close()


def _play(
    queue: DecisionQueue,
    vector: SyncVectorEnv,
    requests: Iterator[EpisodeRequest],
    num_envs: Callable[[], int],
    agent: AnyAgent,
    opponent: AnyAgent | None,
    broken_off: Callable[[int], str] | None,
) -> Iterator[EpisodeRecord]:
    """Collect decisions, step their environments, and give slots whose episode has ended the next request."""
    slots: dict[int, _EnvSlot] = {}
    free_slots: list[_EnvSlot] = []
    undecided_slots: list[_EnvSlot] = []
    is_exhausted = False
    while True:
        room = 0 if is_exhausted else max(num_envs(), 1) - len(slots)
        if room > 0:
            free_slots += [_EnvSlot(vector) for _ in range(room - len(free_slots))]
            starting_slots, free_slots = free_slots[:room], free_slots[room:]
            new_slots, failed_records = _begin_episodes(starting_slots, requests)
            yield from failed_records
            is_exhausted = len(new_slots) < room
            slots.update((slot.index, slot) for slot in new_slots)
            undecided_slots = sorted(undecided_slots + new_slots, key=lambda slot: slot.index)
        if not slots:
            return
        given: list[RequestOutcome] = []
        for slot in undecided_slots:
            if broken_off is not None and (failure := _break_of(broken_off, slot.record.index)) is not None:
                slot.break_off(failure)
                free_slots.append(slots.pop(slot.index))
                yield slot.record
            else:
                given += slot.ask(queue, agent, opponent)
        outcomes = sorted(given + queue.collect(), key=itemgetter(0))
        steps = vector.step_each(_actions_of(outcomes, vector.num_envs))
        undecided_slots = []
        for index, outcome in outcomes:
            slot = slots[index]
            if isinstance(outcome, Decision):
                is_over = slot.record_turn(outcome, steps[index])
            elif isinstance(outcome, EpisodeLimitReached):
                is_over = slot.end_at_limit(outcome.limit)
            else:
                failed_by: Side = "budget" if isinstance(outcome, BudgetUsedUp) else "agent"
                is_over = slot.break_off(failure_of(outcome, "agent")._replace(side=failed_by))
            if is_over:
                free_slots.append(slots.pop(index))
                yield slot.record
            else:
                undecided_slots.append(slot)


def _break_of(broken_off: Callable[[int], str], index: int) -> Failure | None:
    """Why the episode with this index ends before its next turn; None if it continues."""
    try:
        reason = broken_off(index)
    except BudgetUsedUp as error:
        return Failure("budget", str(error))
    return Failure("agent", reason) if reason else None


def _actions_of(outcomes: Sequence[RequestOutcome], num_envs: int) -> list[str | None]:
    """The action of each slot; None where no agent has decided."""
    actions: list[str | None] = [None] * num_envs
    for index, outcome in outcomes:
        if isinstance(outcome, Decision):
            actions[index] = outcome.action
    return actions


def _begin_episodes(
    free_slots: Sequence[_EnvSlot], requests: Iterator[EpisodeRequest]
) -> tuple[list[_EnvSlot], list[EpisodeRecord]]:
    """Give each slot its next request.

    Returns the slots in which an episode has begun, and the records of requests whose environment could not be reset.
    """
    failed_records = []
    for slot in free_slots:
        slot.is_busy = False
        for request in requests:
            if not isinstance(request, EpisodeRequest):
                raise InvalidArgument(
                    f"An episode to play is an EpisodeRequest(0, 'game:...', seed=0), not {request!r:.80}."
                )
            if slot.begin(request):
                break
            failed_records.append(slot.record)
    return [slot for slot in free_slots if slot.is_busy], failed_records


_EnvSettings = tuple[str, Mapping[str, Any], Sequence[Mapping[str, Any]]]
"""The arguments of `make_wrapped`."""


@dataclass(slots=True)
class _EnvSlot:
    """A slot of the vector and the episode that is played in it."""

    vector: SyncVectorEnv
    index: int = -1
    """The index of the slot in the vector; -1 before the first episode."""
    is_busy: bool = False
    env_settings: _EnvSettings | None = None
    """The arguments from which the environment in the slot was made."""
    repeat: int = 0
    env: Env = field(init=False)
    record: EpisodeRecord = field(init=False)
    request: Request = field(init=False)
    """The turn that waits for a decision."""
    turns_before: int = 0
    """The turns that were taken before the record begins."""
    given: str | None = None
    """The action of the next turn, if the agent does not choose it."""
    past: dict[int, list[Exchange]] = field(default_factory=dict)
    """The earlier turns of each seat."""

    def begin(self, request: EpisodeRequest) -> bool:
        """Reset the environment, making another one if the request needs it; return False if the reset failed."""
        env_settings = request.env_id, request.env_kwargs, request.wrappers
        if env_settings != self.env_settings:
            self._make_env(env_settings)
        seed, start = check_seed(request.seed), request.start
        if start is None:
            observation, info = self.vector.reset_one(self.index, seed)
        else:
            observation, info = self._go_on_from(start)
        failure = info.get("failure", "")
        if not isinstance(observation, str):
            failure = "The first observation is not a string."
        self.is_busy = not failure
        version = registry.spec(request.env_id).version
        if not self.is_busy:
            identity = Identity(request.env_id, version, seed, request.env_kwargs, "", request.wrappers)
            self.record = EpisodeRecord(
                request.index,
                identity,
                "",
                {},
                failure=failure,
                failed_by="environment",
                seat=request.seat,
                repeat=request.repeat,
            )
            return False
        self.env = self.vector.env(self.index)
        identity = Identity(request.env_id, version, seed, request.env_kwargs, self.env.data_hash, request.wrappers)
        self.record = EpisodeRecord(
            request.index,
            identity,
            observation,
            info,
            max_turns=self.env.max_turns,
            seat=request.seat,
            repeat=request.repeat,
        )
        if not 0 <= request.seat < self.env.seats:
            seats = f"seats 0 to {self.env.seats - 1}" if self.env.seats > 1 else "seat 0 alone"
            raise InvalidArgument(f"{request.env_id} has the {seats}; there is no {request.seat}.")
        self.past, self.repeat = {}, request.repeat
        self.turns_before, self.given = 0, None
        if start is not None:
            self.past[self.env.to_act[0]] = list(start.past)
            self.turns_before, self.given = start.turn, start.action
        self._prepare_request(observation, info)
        return True

    def _go_on_from(self, start: Start) -> tuple[str, Info]:
        """Put the environment into a state; return what was read last, or an info with `failure`."""
        failure = self.vector.set_one(self.index, start.state, start.draw_key)
        return (start.observation, start.info) if failure is None else ("", failure)

    def ask(self, queue: DecisionQueue, agent: AnyAgent, opponent: AnyAgent | None) -> list[RequestOutcome]:
        """Ask whoever has to act for a decision; return the action of this turn if it is given already."""
        if self.given is not None:
            action, self.given = self.given, None
            return [(self.index, Decision(action))]
        is_opponents_turn = self.request.seat != self.record.seat
        queue.submit(self.index, opponent if opponent is not None and is_opponents_turn else agent, self.request)
        return []

    def record_turn(self, decision: Decision, step: Step) -> bool:
        """Record a turn; return whether the episode is over."""
        record = self.record
        if "failure" in step[-1]:
            return self.break_off(Failure("environment", step[-1]["failure"]))
        try:
            observation, reward, terminated, truncated, info = check_step(step)
        except EnvironmentFailure as error:
            return self.break_off(failure_of(error, "environment"))
        request = self.request
        action = decision.action
        extra = decision.recorded_extra if decision.note or decision.extra else {}
        record.turns.append(TurnRecord(action, observation, reward, info, request.seat, extra))
        self.past[request.seat].append(Exchange(request.observation, request.info, action))
        if terminated or truncated:
            record.terminated, record.truncated = terminated, truncated
            record.success = success(record.seat, info)
            return True
        self._prepare_request(observation, info)
        return False

    def end_at_limit(self, limit: Literal["tokens", "money"]) -> bool:
        """Record that a limit of the episode ends it unsolved, and return True: it is over."""
        self.record.truncated, self.record.success, self.record.cut = True, False, limit
        return True

    def break_off(self, failure: Failure) -> bool:
        """Record why the episode cannot continue, and return True: it is over."""
        assert failure.side != "ours", "a failure of ours ends the rollout"
        self.record.failure, self.record.failed_by = failure.message, failure.side
        return True

    def _prepare_request(self, observation: str, info: Info) -> None:
        """Set `request` to the next turn, with what the seat that has to act may read."""
        seat = self.env.to_act[0]
        seat_observation, seat_info = observation_for_seat(seat, observation, info)
        past = self.past.get(seat)
        if past is None:
            past = self.past[seat] = []
        self.request = Request(
            self.env,
            seat_observation,
            seat_info,
            self.turns_before + len(self.record.turns) + 1,
            seat,
            past=past,
            episode=self.record.index,
            repeat=self.repeat,
        )

    def _make_env(self, env_settings: _EnvSettings) -> None:
        env_fn = partial(make_wrapped, *env_settings)
        if self.index < 0:
            self.index = self.vector.add(env_fn)
        else:
            self.vector.replace(self.index, env_fn)
        self.env_settings = env_settings
