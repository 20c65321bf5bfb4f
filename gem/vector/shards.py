"""Environments in several processes: one message per process and step, and a process that dies loses nothing.

The vector keeps each process's states as of some step and every message since. When a process dies, another one
takes the states, is told the messages again and goes on; deterministic environments then answer as before.
"""

from __future__ import annotations

import itertools
import logging
import multiprocessing
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any

from gem.core import Env, Info, State, Step
from gem.errors import EnvironmentFailure, GemError, InvalidArgument, UsageError
from gem.vector.base import CLOSED, Actions, AutoresetMode, VectorEnv
from gem.vector.sync import SyncVectorEnv

logger = logging.getLogger(__name__)

JOURNAL_LENGTH = 256
"""Messages after which a process's states are asked for anew: a restart repeats at most so many, and all where an
environment has no states."""
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
    """What it was told since it had these states."""
    asked: Message | None = None
    """The message that is not done with: an answer may be on its way."""
    process: BaseProcess | None = None
    pipe: Connection | None = None

    @property
    def slots(self) -> range:
        return range(self.first, self.first + len(self.env_fns))

    def launch(self) -> None:
        """Start the process; `begin` waits until it has made its environments.

        Raises:
            InvalidArgument: if what makes them cannot be pickled, where processes are spawned.
        """
        context = _context()
        self.pipe, theirs = context.Pipe()
        process = context.Process(
            target=_serve, args=(theirs, self.env_fns, self.autoreset_mode), daemon=True, name=f"gem shard {self.first}"
        )
        try:
            process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:  # as pickle words it
            raise InvalidArgument(
                "What makes the environments cannot be sent to a new process: define classes, wrappers and functions "
                f"at the top of a module. {error}"
            ) from error
        self.process = process
        theirs.close()

    def begin(self) -> None:
        """Bring a new process to where the last one was; what was asked last is asked again.

        Raises:
            GemError: if an environment cannot be made.
        """
        self._read()
        if self.states is not None:
            self._repeat(("set_states", self.states))
        for message in self.journal:
            if message is not self.asked:
                self._repeat(message)
        if self.asked is not None:
            self._post(self.asked)

    def ask(self, message: Message) -> None:
        """Send a message; `receive` gives the answer."""
        if message[0] != "get_states":
            self.journal.append(message)
        self.asked = message
        if self.pipe is None:  # it was stopped in the middle of something
            self._start_again()
        else:
            self._post(message)

    def receive(self) -> Any:
        """The answer to what was asked, from another process if this one has died.

        Raises:
            UsageError: what the environments raised.
            EnvironmentFailure: if the process dies on this message again and again.
        """
        for others_left in reversed(range(RESTARTS)):
            try:
                answer = self._read()
            except (EOFError, OSError):
                logger.warning("The process of slots %s died; %d more may try", self.slots, others_left)
                if others_left:
                    self._start_again()
                continue
            except GemError:
                self.asked = None
                raise
            self._shorten()
            self.asked = None
            return answer
        self.journal = [message for message in self.journal if message is not self.asked]
        self.stop()
        raise EnvironmentFailure(
            f"The process of slots {self.first} to {self.slots[-1]} died {RESTARTS} times on the same step. "
            "An environment in it ends its process; step them in this process to see which."
        )

    def stop(self) -> None:
        """End the process, whatever it does; the next message starts another one."""
        self.asked = None
        if self.pipe is not None:
            self._post(("close", None))
            self.pipe.close()
            self.pipe = None
        if self.process is not None:
            self.process.join(timeout=0.5)
            if self.process.is_alive():
                self.process.kill()
                self.process.join()
            self.process = None

    def _start_again(self) -> None:
        asked = self.asked
        self.stop()
        self.asked = asked
        try:
            self.launch()
            self.begin()
        except (EOFError, OSError):
            logger.warning("The new process of slots %s died too", self.slots)

    def _shorten(self) -> None:
        """Ask for the states now and then, so that a restart need not repeat everything."""
        if not self.journal or len(self.journal) % JOURNAL_LENGTH:
            return
        self._post(("get_states", None))
        try:
            self.states = self._read()
        except (GemError, EOFError, OSError) as error:  # no states; or it has just died, as the next message finds out
            logger.debug("The slots %s have no states: %s", self.slots, error)
            return
        self.journal.clear()

    def _post(self, message: Message) -> None:
        """Send; that a process cannot be reached is found out by whoever reads."""
        assert self.pipe is not None
        try:
            self.pipe.send(message)
        except OSError:
            logger.debug("Shard %d does not take messages", self.first)

    def _repeat(self, message: Message) -> None:
        self._post(message)
        try:
            self._read()
        except GemError:  # it was raised the first time
            logger.debug("Shard %d repeats a fault", self.first)

    def _read(self) -> Any:
        assert self.pipe is not None
        kind, answer = self.pipe.recv()
        if kind == "raised":
            raise answer
        return answer


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
        self.autoreset_mode = self._mode(autoreset_mode)
        self._num_envs = len(env_fns)
        parts = max(1, min(num_shards or os.cpu_count() or 1, self._num_envs))
        bounds = [self._num_envs * i // parts for i in range(parts + 1)]
        self._shards = [
            _Shard(list(env_fns[low:high]), low, self.autoreset_mode) for low, high in itertools.pairwise(bounds)
        ]
        self._closed = False
        try:
            for shard in self._shards:
                shard.launch()
            for shard in self._shards:
                shard.begin()
        except BaseException:
            self.close()
            raise

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
        self._closed = True
        for shard in self._shards:
            shard.stop()

    def _ask(self, messages: Sequence[tuple[_Shard, Message]]) -> list[tuple[_Shard, Any]]:
        """Send everything first, so that the processes work at the same time; then collect every answer."""
        if self._closed:
            raise UsageError(CLOSED)
        answers: list[tuple[_Shard, Any]] = []
        fault: GemError | None = None
        try:
            for shard, message in messages:
                shard.ask(message)
            for shard, _ in messages:
                try:
                    answers.append((shard, shard.receive()))
                except GemError as error:
                    fault = fault or error
        finally:  # Ctrl-C: an answer that nobody reads now must not be taken for the next one
            for shard, _ in messages:
                if shard.asked is not None:
                    shard.stop()
        if fault is not None:
            raise fault
        return answers


def can_fork() -> bool:
    """Forking is fast and needs no importable main module, but is only safe in a process with one thread."""
    return sys.platform == "linux" and threading.active_count() == 1


def _context() -> ForkContext | SpawnContext:
    if can_fork():
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("spawn")


def _serve(pipe: Connection, env_fns: Sequence[Callable[[], Env]], autoreset_mode: AutoresetMode) -> None:
    """The process: answer until it is told to close, or its parent has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program, which ends this process
    vector: SyncVectorEnv | None = None

    def make(_: object) -> None:
        nonlocal vector
        vector = SyncVectorEnv(env_fns, autoreset_mode)

    _answer(pipe, make, None)
    if vector is None:
        return
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
        _answer(pipe, verbs[verb], argument)
    vector.close()


def _answer(pipe: Connection, verb: Callable[[Any], Any], argument: Any) -> None:
    """Send what `verb` gives, or what it raises."""
    said: tuple[str, Any]
    try:
        said = ("ok", verb(argument))
    except GemError as error:
        said = ("raised", error)
    except Exception as error:  # noqa: BLE001 (whatever an environment raises, the process goes on)
        said = ("raised", EnvironmentFailure(f"{type(error).__name__}: {error}"))
    try:
        pipe.send(said)
    except OSError:
        logger.debug("Nobody reads the answers of a shard")
    except Exception as error:  # noqa: BLE001 (pickle raises whatever it likes)
        pipe.send(("raised", EnvironmentFailure(f"An answer cannot be sent from process to process: {error}")))
