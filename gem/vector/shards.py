"""Environments in several processes: one message per process and step, and a process that dies loses nothing.

The vector keeps each process's states as of some step and every message since. When a process dies, another one
takes the states, is told the messages again and goes on; deterministic environments then answer as before.
"""

from __future__ import annotations

import itertools
import logging
import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any

from gem.core import Env, Info, State, Step
from gem.errors import EnvironmentFailure, UsageError
from gem.vector.base import Actions, AutoresetMode, VectorEnv
from gem.vector.sync import SyncVectorEnv

logger = logging.getLogger(__name__)

JOURNAL_LENGTH = 256
"""Messages after which a process's states are asked for anew: a restart repeats at most so many."""
RESTARTS = 3
"""A process that dies so often on the same message is given up."""

Message = tuple[str, Any]


@dataclass(slots=True)
class _Shard:
    """One process, the slots it serves, and what it takes to start it again."""

    env_fns: list[Callable[[], Env]]
    first: int
    autoreset_mode: AutoresetMode
    states: list[State] | None = None
    journal: list[Message] = field(default_factory=list)
    process: BaseProcess | None = None
    pipe: Connection | None = None

    @property
    def slots(self) -> range:
        return range(self.first, self.first + len(self.env_fns))

    def start(self) -> None:
        """Start the process and bring it to where the last one was."""
        context = _context()
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(
            target=_serve, args=(theirs, self.env_fns, self.autoreset_mode), daemon=True, name=f"gem shard {self.first}"
        )
        self.process.start()
        theirs.close()
        if self.states is not None:
            self._exchange(("set_states", self.states))
        for message in self.journal:
            self._exchange(message)

    def send(self, message: Message) -> None:
        """Ask; a process that cannot be reached is found out by `receive`."""
        assert self.pipe is not None
        try:
            self.pipe.send(message)
        except OSError:
            logger.debug("Shard %d does not take messages", self.first)

    def receive(self, message: Message) -> Any:
        """The answer to `message`, from another process if this one has died.

        Raises:
            EnvironmentFailure: if the process dies on this message again and again.
        """
        for _ in range(RESTARTS):
            try:
                answer = self._answer()
            except (EOFError, OSError):
                logger.warning("The process of slots %s died; starting another one", self.slots)
                self.stop()
                try:
                    self.start()
                    self.send(message)
                except (EOFError, OSError):
                    logger.warning("The new process of slots %s died too", self.slots)
                continue
            self._remember(message)
            return answer
        raise EnvironmentFailure(
            f"The process of slots {self.first} to {self.slots[-1]} died {RESTARTS} times on the same step. "
            "An environment in it ends its process; step them in this process to see which."
        )

    def stop(self) -> None:
        """End the process, whatever it does."""
        if self.pipe is not None:
            self.send(("close", None))
            self.pipe.close()
            self.pipe = None
        if self.process is not None:
            self.process.join(timeout=0.5)
            if self.process.is_alive():
                self.process.kill()
                self.process.join()
            self.process = None

    def _exchange(self, message: Message) -> Any:
        self.send(message)
        return self._answer(again=True)

    def _answer(self, *, again: bool = False) -> Any:
        assert self.pipe is not None
        kind, answer = self.pipe.recv()
        if kind == "usage" and not again:  # a misuse that is repeated from the journal was raised the first time
            raise answer
        return answer

    def _remember(self, message: Message) -> None:
        if message[0] == "get_states":
            return
        self.journal.append(message)
        if len(self.journal) >= JOURNAL_LENGTH:
            self.states = self._exchange(("get_states", None))
            self.journal.clear()


class ShardVectorEnv(VectorEnv):
    """Steps its environments in `num_shards` processes (one for each core if None); see `VectorEnv`.

    What makes the environments must be picklable where processes are spawned (not on Linux). Close it, or use it in
    a `with` block: the processes end with it, and with the program.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env]],
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        num_shards: int | None = None,
    ) -> None:
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self._num_envs = len(env_fns)
        parts = max(1, min(num_shards or os.cpu_count() or 1, self._num_envs))
        bounds = [self._num_envs * i // parts for i in range(parts + 1)]
        self._shards = [
            _Shard(list(env_fns[low:high]), low, self.autoreset_mode) for low, high in itertools.pairwise(bounds)
        ]
        for shard in self._shards:
            shard.start()

    @property
    def num_envs(self) -> int:
        """How many slots there are."""
        return self._num_envs

    @property
    def pids(self) -> list[int]:
        """The processes' ids."""
        return [shard.process.pid or 0 for shard in self._shards if shard.process is not None]

    def reset_some(self, seeds: Mapping[int, int | None]) -> dict[int, tuple[str, Info]]:
        """As `VectorEnv.reset_some`."""
        asked = []
        for shard in self._shards:
            own = {i - shard.first: seeds[i] for i in shard.slots if i in seeds}
            if own:
                asked.append((shard, ("reset_some", own)))
        begun: dict[int, tuple[str, Info]] = {}
        for shard, answer in self._ask(asked):
            begun.update({shard.first + i: result for i, result in answer.items()})
        return begun

    def step_each(self, actions: Actions) -> list[Step]:
        """As `VectorEnv.step_each`."""
        listed = self._listed(actions)
        asked = [(shard, ("step_each", listed[shard.first : shard.slots.stop])) for shard in self._shards]
        return [step for _, answer in self._ask(asked) for step in answer]

    def get_states(self) -> list[State]:
        """As `VectorEnv.get_states`."""
        answers = self._ask([(shard, ("get_states", None)) for shard in self._shards])
        return [state for _, answer in answers for state in answer]

    def set_states(self, states: Sequence[State]) -> None:
        """As `VectorEnv.set_states`."""
        self._check_length("states", states)
        self._ask([(shard, ("set_states", list(states[shard.first : shard.slots.stop]))) for shard in self._shards])

    def close(self) -> None:
        """As `VectorEnv.close`."""
        for shard in self._shards:
            shard.stop()

    def _ask(self, messages: Sequence[tuple[_Shard, Message]]) -> list[tuple[_Shard, Any]]:
        """Send everything first, so that the processes work at the same time; then collect every answer."""
        for shard, message in messages:
            shard.send(message)
        answers: list[tuple[_Shard, Any]] = []
        misuse: UsageError | None = None
        for shard, message in messages:
            try:
                answers.append((shard, shard.receive(message)))
            except UsageError as error:
                misuse = misuse or error
        if misuse is not None:
            raise misuse
        return answers


def _context() -> ForkContext | SpawnContext:
    """Forking is fast and needs no importable main module, but is only safe in a process with one thread."""
    if sys.platform == "linux" and threading.active_count() == 1:
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("spawn")


def _serve(pipe: Connection, env_fns: Sequence[Callable[[], Env]], autoreset_mode: AutoresetMode) -> None:
    """The process: answer until it is told to close, or its parent has gone."""
    vector = SyncVectorEnv(env_fns, autoreset_mode)
    verbs: dict[str, Callable[[Any], Any]] = {
        "reset_some": vector.reset_some,
        "step_each": vector.step_each,
        "get_states": lambda _: vector.get_states(),
        "set_states": vector.set_states,
    }
    parent = multiprocessing.parent_process()
    assert parent is not None
    while pipe in wait([pipe, parent.sentinel]):
        verb, argument = pipe.recv()
        if verb == "close":
            break
        try:
            answer = ("ok", verbs[verb](argument))
        except UsageError as error:
            answer = ("usage", error)
        pipe.send(answer)
    vector.close()
