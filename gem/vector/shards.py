"""Environments in several processes, with one message per process and step, which survive the death of a process.

For each process the vector keeps the states of its environments at some step and a journal of the messages since. When
a process dies, a new one gets these states and the messages of the journal. Deterministic environments then continue
as if nothing had happened.
"""

from __future__ import annotations

import itertools
import logging
import multiprocessing
import os
import pickle
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkContext, SpawnContext
from multiprocessing.process import BaseProcess
from typing import Any

from gem.core import Env, Info, State, Step
from gem.errors import EnvironmentFailure, GemError, InvalidArgument, UsageError
from gem.processes import is_only_thread
from gem.vector.base import CLOSED_MESSAGE, Actions, AutoresetMode, VectorEnv
from gem.vector.sync import SyncVectorEnv

logger = logging.getLogger(__name__)

MAX_JOURNAL_MESSAGES = 256
"""The length of a journal at which the states are fetched and the journal is cleared. A restart repeats at most this
number of messages, unless an environment has no state: then it repeats all."""
MAX_ATTEMPTS = 3
"""After a process has died this number of times on the same message, the error is raised."""

ShardMessage = tuple[str, Any]
"""The name of a method of `SyncVectorEnv` and its argument."""


@dataclass(slots=True)
class _Shard:
    """One process, its slots, and what is needed to restart it."""

    env_fns: list[Callable[[], Env]]
    first_slot: int
    autoreset_mode: AutoresetMode
    states: list[State] | None = None
    journal: list[ShardMessage] = field(default_factory=list)
    """The messages since the process had these states."""
    pending: ShardMessage | None = None
    """The message whose response has not been received yet."""
    process: BaseProcess | None = None
    pipe: Connection | None = None

    @property
    def slots(self) -> range:
        return range(self.first_slot, self.first_slot + len(self.env_fns))

    def launch(self) -> None:
        """Start the process; `begin` waits until it has made its environments.

        Raises:
            InvalidArgument: if processes are spawned and the functions that make the environments cannot be pickled.
        """
        context = _context()
        self.pipe, child_pipe = context.Pipe()
        process = context.Process(
            target=_serve,
            args=(child_pipe, self.env_fns, self.autoreset_mode, self.first_slot),
            daemon=True,
            name=f"gem shard {self.first_slot}",
        )
        try:
            process.start()
        except (pickle.PicklingError, AttributeError, TypeError) as error:  # the exceptions of pickle
            raise InvalidArgument(
                "What makes the environments cannot be sent to a new process: define classes, wrappers and functions "
                f"at the top of a module. {error}"
            ) from error
        self.process = process
        child_pipe.close()

    def begin(self) -> None:
        """Bring a new process to the state of the last one and send the pending message again.

        Raises:
            GemError: if an environment cannot be made.
        """
        self._receive_one()
        if self.states is not None:
            self._resend(("set_states", self.states))
        for message in self.journal:
            if message is not self.pending:
                self._resend(message)
        if self.pending is not None:
            self._send(self.pending)

    def request(self, message: ShardMessage) -> None:
        """Send a message; `receive` returns the response."""
        if message[0] != "get_states":
            self.journal.append(message)
        self.pending = message
        if self.pipe is None:  # the process was stopped before, for example by an interrupt
            self._restart()
        else:
            self._send(message)

    def receive(self) -> Any:
        """Return the response to the pending message; if the process dies, restart it and wait for the new one.

        Raises:
            UsageError: if the environments raised one.
            EnvironmentFailure: if the process has died `MAX_ATTEMPTS` times on this message.
        """
        for attempts_left in reversed(range(MAX_ATTEMPTS)):
            try:
                response = self._receive_one()
            except (EOFError, OSError):
                logger.warning("The process of slots %s died; %d more may try", self.slots, attempts_left)
                if attempts_left:
                    self._restart()
                continue
            except GemError:
                self.pending = None
                raise
            self._truncate_journal()
            self.pending = None
            return response
        self.journal = [message for message in self.journal if message is not self.pending]
        self.stop()
        raise EnvironmentFailure(
            f"The process of slots {self.first_slot} to {self.slots[-1]} died {MAX_ATTEMPTS} times on the same step. "
            "An environment in it ends its process; step them in this process to see which."
        )

    def stop(self) -> None:
        """End the process, by force if necessary; the next message starts another one."""
        self.pending = None
        if self.pipe is not None:
            self._send(("close", None))
            self.pipe.close()
            self.pipe = None
        if self.process is not None:
            self.process.join(timeout=0.5)
            if self.process.is_alive():
                self.process.kill()
                self.process.join()
            self.process = None

    def _restart(self) -> None:
        pending = self.pending
        self.stop()
        self.pending = pending
        try:
            self.launch()
            self.begin()
        except (EOFError, OSError):
            logger.warning("The new process of slots %s died too", self.slots)

    def _truncate_journal(self) -> None:
        """Fetch the states and clear the journal if it has reached its maximum length."""
        if not self.journal or len(self.journal) % MAX_JOURNAL_MESSAGES:
            return
        self._send(("get_states", None))
        try:
            self.states = self._receive_one()
        except (GemError, EOFError, OSError) as error:  # no states, or it died, which the next message will notice
            logger.debug("The slots %s have no states: %s", self.slots, error)
            return
        self.journal.clear()

    def _send(self, message: ShardMessage) -> None:
        """Send a message. If the process is dead, reading the response will fail, so errors are ignored here."""
        assert self.pipe is not None
        try:
            self.pipe.send(message)
        except OSError:
            logger.debug("Shard %d does not take messages", self.first_slot)

    def _resend(self, message: ShardMessage) -> None:
        self._send(message)
        try:
            self._receive_one()
        except GemError:  # the caller got this error the first time
            logger.debug("Shard %d repeats a fault", self.first_slot)

    def _receive_one(self) -> Any:
        assert self.pipe is not None
        kind, response = self.pipe.recv()
        if kind == "raised":
            raise response
        return response


class ShardVectorEnv(VectorEnv):
    """Steps its environments in `num_shards` processes (by default one for each core); see `VectorEnv`.

    Where processes are spawned (not on Linux), the functions that make the environments must be picklable. Close the
    vector, or use it in a `with` block, to end the processes; they also end with the program.
    """

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env]],
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        num_shards: int | None = None,
    ) -> None:
        self.autoreset_mode = self._parse_mode(autoreset_mode)
        self._num_envs = len(env_fns)
        self._awaits_reset = [True] * self._num_envs
        shard_count = max(1, min(num_shards or os.cpu_count() or 1, self._num_envs))
        bounds = [self._num_envs * i // shard_count for i in range(shard_count + 1)]
        self._shards = [
            _Shard(list(env_fns[start:end]), start, self.autoreset_mode) for start, end in itertools.pairwise(bounds)
        ]
        self._closed = False
        try:
            for shard in self._shards:
                shard.launch()
            for shard in self._shards:
                try:
                    shard.begin()
                except (EOFError, OSError) as error:
                    raise _ended_early_error(shard.slots) from error
        except BaseException:
            self.close()
            raise

    @property
    def num_envs(self) -> int:
        """The number of slots."""
        return self._num_envs

    @property
    def pids(self) -> list[int]:
        """The ids of the processes."""
        return [shard.process.pid or 0 for shard in self._shards if shard.process is not None]

    def reset_some(self, seeds: Mapping[int, int | None]) -> dict[int, tuple[str, Info]]:
        """See `VectorEnv.reset_some`."""
        messages = []
        for shard in self._shards:
            shard_seeds = {i - shard.first_slot: seeds[i] for i in shard.slots if i in seeds}
            if shard_seeds:
                messages.append((shard, ("reset_some", shard_seeds)))
        results: dict[int, tuple[str, Info]] = {}
        for shard, response in self._request_all(messages):
            results.update({shard.first_slot + i: result for i, result in response.items()})
        return results

    def step_each(self, actions: Actions) -> list[Step]:
        """See `VectorEnv.step_each`."""
        action_list = self._actions_by_slot(actions)
        messages = [(shard, ("step_each", action_list[shard.first_slot : shard.slots.stop])) for shard in self._shards]
        return [step for _, response in self._request_all(messages) for step in response]

    def get_states(self) -> list[State]:
        """See `VectorEnv.get_states`."""
        responses = self._request_all([(shard, ("get_states", None)) for shard in self._shards])
        return [state for _, response in responses for state in response]

    def set_states(self, states: Sequence[State]) -> None:
        """See `VectorEnv.set_states`."""
        self._check_states(states)
        self._request_all(
            [(shard, ("set_states", list(states[shard.first_slot : shard.slots.stop]))) for shard in self._shards]
        )

    def close(self) -> None:
        """See `VectorEnv.close`."""
        self._closed = True
        for shard in self._shards:
            shard.stop()

    def _request_all(self, messages: Sequence[tuple[_Shard, ShardMessage]]) -> list[tuple[_Shard, Any]]:
        """Send all messages, so that the processes work at the same time, and then collect the responses."""
        if self._closed:
            raise UsageError(CLOSED_MESSAGE)
        responses: list[tuple[_Shard, Any]] = []
        first_error: GemError | None = None
        try:
            for shard, message in messages:
                shard.request(message)
            for shard, message in messages:
                try:
                    responses.append((shard, shard.receive()))
                    self._note_episodes(shard.first_slot, message, responses[-1][1])
                except GemError as error:
                    first_error = first_error or error
        finally:  # after an interrupt, an unread response must not be taken for the next one
            for shard, _ in messages:
                if shard.pending is not None:
                    shard.stop()
        if first_error is not None:
            raise first_error
        return responses

    def _note_episodes(self, first_slot: int, message: ShardMessage, response: Any) -> None:
        """Note which slots have no episode any more or have one again, so that the next step can be checked here."""
        name, argument = message
        is_over: dict[int, bool] = {}
        if name == "reset_some":
            is_over = {i: not observation and "failure" in info for i, (observation, info) in response.items()}
        elif name == "step_each" and self.autoreset_mode is AutoresetMode.DISABLED:
            is_over = {i: True for i, step in enumerate(response) if step[2] or step[3]}
        elif name == "set_states":
            is_over = {i: state["ended"] for i, state in enumerate(argument)}
        for i, over in is_over.items():
            self._awaits_reset[first_slot + i] = over and self.autoreset_mode is AutoresetMode.DISABLED


def _ended_early_error(slots: range) -> EnvironmentFailure:
    """The exception to raise when a new process ends instead of answering."""
    message = f"The process of slots {slots[0]} to {slots[-1]} ended before its environments were made."
    if not can_fork():
        message += (
            " Each process imports the main module of your program first, which must not make a vector then: do that "
            'in a block `if __name__ == "__main__":`.'
        )
    return EnvironmentFailure(message)


def can_fork() -> bool:
    """Whether processes are forked: fast and without an importable main module, but only safe in the only thread."""
    return sys.platform == "linux" and is_only_thread()


def _context() -> ForkContext | SpawnContext:
    if can_fork():
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context("spawn")


def _serve(
    pipe: Connection, env_fns: Sequence[Callable[[], Env]], autoreset_mode: AutoresetMode, first_slot: int
) -> None:
    """Serve messages in the process until the message `close`, or until the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # on Ctrl-C the parent ends this process
    vector: SyncVectorEnv | None = None

    def make(_: object) -> None:
        nonlocal vector
        vector = SyncVectorEnv(env_fns, autoreset_mode, first_slot=first_slot)

    _respond(pipe, make, None, first_slot)
    if vector is None:
        return
    methods: dict[str, Callable[[Any], Any]] = {
        "reset_some": vector.reset_some,
        "step_each": vector.step_each,
        "get_states": lambda _: vector.get_states(),
        "set_states": vector.set_states,
    }
    parent = multiprocessing.parent_process()
    assert parent is not None
    while pipe in wait([pipe, parent.sentinel]):
        name, argument = pipe.recv()
        if name == "close":
            break
        _respond(pipe, methods[name], argument, first_slot)
    vector.close()


def _respond(pipe: Connection, method: Callable[[Any], Any], argument: Any, first_slot: int) -> None:
    """Call a method and send its result or its exception."""
    response: tuple[str, Any]
    try:
        response = ("ok", method(argument))
    except GemError as error:
        response = ("raised", error)
    except Exception as error:  # noqa: BLE001 (an environment may raise anything; the process goes on)
        response = ("raised", EnvironmentFailure(f"{type(error).__name__}: {error}"))
    try:
        pipe.send(response)
    except OSError:
        logger.debug("The parent of a shard has closed the pipe")
    except Exception as error:  # noqa: BLE001 (pickle may raise anything)
        reason = f"What {_unsendable(response[1], first_slot)} answered cannot be sent from process to process: {error}"
        pipe.send(("raised", EnvironmentFailure(f"{reason.rstrip('.')}. An info is plain data, see gem.core.")))


def _unsendable(results: Any, first_slot: int) -> str:
    """Whose result cannot be pickled: the first environment of the process that is found."""
    indexed = results.items() if isinstance(results, dict) else enumerate(results if isinstance(results, list) else ())
    for i, result in indexed:
        try:
            pickle.dumps(result)
        except Exception:  # noqa: BLE001 (pickle may raise anything)
            return f"the environment in slot {first_slot + i}"
    return "an environment"
