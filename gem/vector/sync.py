"""Vectors whose environments are in this process: stepped one after the other, or in threads if they wait for I/O."""

from __future__ import annotations

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from copy import deepcopy
from threading import Lock
from types import TracebackType
from typing import Generic, NamedTuple, TypeVar

from gem.core import Env, Info, State, Step
from gem.errors import EnvironmentServerFailure, UsageError, failure_of
from gem.vector.base import CLOSED_MESSAGE, IDLE_STEP, Actions, AutoresetMode, VectorEnv

logger = logging.getLogger(__name__)
T = TypeVar("T")


class _FailureKind(NamedTuple):
    """Failures with the same class, raised by the same line, are of one kind."""

    error_name: str
    file: str
    line: int

    @classmethod
    def of(cls, error: Exception) -> _FailureKind:
        """The kind of an error that was raised."""
        innermost: TracebackType | None = error.__traceback__
        while innermost is not None and innermost.tb_next is not None:
            innermost = innermost.tb_next
        if innermost is None:
            return cls(type(error).__name__, "", 0)
        return cls(type(error).__name__, innermost.tb_frame.f_code.co_filename, innermost.tb_lineno)


class SyncVectorEnv(VectorEnv):
    """Steps its environments one after the other; see `VectorEnv`."""

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env]],
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        *,
        first_slot: int = 0,
    ) -> None:
        self.first_slot = first_slot
        """The number of its first slot in a vector that it is a part of, for what is logged."""
        self.env_fns = list(env_fns)
        self.autoreset_mode = self._parse_mode(autoreset_mode)
        self._envs: list[Env | None] = [None] * len(self.env_fns)
        self._is_over = [False] * len(self.env_fns)
        self._awaits_reset = [True] * len(self.env_fns)
        self._closed = False
        self._failures: Counter[_FailureKind] = Counter()
        self._failures_lock = Lock()
        try:
            for i in range(len(self.env_fns)):
                self.env(i)
        except BaseException:  # no other code has a reference that could close those that were made
            self._close_all()
            raise

    @property
    def num_envs(self) -> int:
        """The number of slots."""
        return len(self.env_fns)

    @property
    def envs(self) -> list[Env]:
        """The environments; one that failed is made anew."""
        return [self.env(i) for i in range(self.num_envs)]

    def env(self, i: int) -> Env:
        """Return the environment in slot `i`; it is made if there is none."""
        env = self._envs[i]
        if env is None:
            env = self._envs[i] = self.env_fns[i]()
        return env

    def reset_some(self, seeds: Mapping[int, int | None]) -> dict[int, tuple[str, Info]]:
        """See `VectorEnv.reset_some`."""
        self._check_open()
        return {i: self.reset_one(i, seed) for i, seed in seeds.items()}

    def reset_one(self, i: int, seed: int | None = None) -> tuple[str, Info]:
        """Begin an episode in slot `i`; if its environment fails, return "" and an info with `failure`."""
        try:
            observation, info = self.env(i).reset(seed=seed)
        except Exception as error:  # noqa: BLE001 (an environment may raise anything; the others go on)
            return "", self._fail(i, error)
        self._note_episode(i, is_over=False)
        return observation, info

    def set_one(self, i: int, state: State, draw_key: int = 0) -> Info | None:
        """Put the environment in slot `i` into a copy of the state of a running episode.

        Returns:
            An info with `failure` if its environment fails; None otherwise.
        """
        try:
            self.env(i).set_state(deepcopy(state))
            if draw_key:
                self.env(i).draw_anew(draw_key)
        except Exception as error:  # noqa: BLE001 (an environment may raise anything; the others go on)
            return self._fail(i, error)
        self._note_episode(i, is_over=False)
        return None

    def step_each(self, actions: Actions) -> list[Step]:
        """See `VectorEnv.step_each`."""
        self._check_open()
        step_one = self._step_one
        return [
            IDLE_STEP if action is None else step_one(i, action)
            for i, action in enumerate(self._actions_by_slot(actions))
        ]

    def get_states(self) -> list[State]:
        """See `VectorEnv.get_states`; a state also has whether the episode has ended."""
        self._check_open()
        return [
            {"env": env.get_state(), "ended": is_over} for env, is_over in zip(self.envs, self._is_over, strict=True)
        ]

    def set_states(self, states: Sequence[State]) -> None:
        """See `VectorEnv.set_states`."""
        self._check_open()
        self._check_states(states)
        for i, state in enumerate(states):
            self.env(i).set_state(state["env"])
            self._note_episode(i, is_over=state["ended"])

    def add(self, env_fn: Callable[[], Env]) -> int:
        """Add a slot and return its index; the first reset makes its environment."""
        self.env_fns.append(env_fn)
        self._envs.append(None)
        self._is_over.append(True)
        self._awaits_reset.append(True)
        return self.num_envs - 1

    def replace(self, i: int, env_fn: Callable[[], Env]) -> None:
        """Close the environment in slot `i`; the next reset makes another one with `env_fn`."""
        self._close_one(i)
        self._note_episode(i, is_over=True)
        self.env_fns[i] = env_fn

    def close(self) -> None:
        """See `VectorEnv.close`."""
        self._closed = True
        self._close_all()
        for kind, number in self._failures.items():
            if number > 1:
                logger.warning("Environments failed %d times with %s (%s:%d)", number, *kind)
        self._failures.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError(CLOSED_MESSAGE)

    def _step_one(self, i: int, action: str) -> Step:
        if self._is_over[i] and self.autoreset_mode is not AutoresetMode.DISABLED:
            observation, info = self.reset_one(i)
            return observation, 0.0, False, self._is_over[i], info
        env = self._envs[i]
        assert env is not None, "an environment that failed is over"
        failure: Info = {}
        try:
            observation, reward, terminated, truncated, info = step = env.step(action)
        except Exception as error:  # noqa: BLE001 (an environment may raise anything; the others go on)
            failure = self._fail(i, error)
            observation, reward, terminated, truncated, info = step = "", 0.0, False, True, failure
        if not (terminated or truncated):
            return step
        self._note_episode(i, is_over=True)
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            return step
        first_observation, first_info = self.reset_one(i)
        first_info = {**failure, **first_info, "final_observation": observation, "final_info": info}
        return first_observation, reward, terminated, truncated, first_info

    def _note_episode(self, i: int, *, is_over: bool) -> None:
        self._is_over[i] = is_over
        self._awaits_reset[i] = is_over and self.autoreset_mode is AutoresetMode.DISABLED

    def _fail(self, i: int, error: Exception) -> Info:
        failure = failure_of(error, "environment")
        if failure.side == "ours":
            raise error
        self._log_failure(i, error)
        self._close_one(i)
        self._note_episode(i, is_over=True)
        return {"failure": failure.message}

    def _log_failure(self, i: int, error: Exception) -> None:
        """Log the first failure of each kind; `close` logs how many there were."""
        kind = _FailureKind.of(error)
        with self._failures_lock:
            self._failures[kind] += 1
            is_first = self._failures[kind] == 1
        if is_first:
            shown = None if isinstance(error, EnvironmentServerFailure) else error  # whose message says everything
            logger.warning("The environment in slot %d failed: %s", self.first_slot + i, error, exc_info=shown)

    def _close_all(self) -> None:
        for i in range(self.num_envs):
            self._close_one(i)

    def _close_one(self, i: int) -> None:
        env, self._envs[i] = self._envs[i], None
        if env is None:
            return
        try:
            env.close()
        except Exception:  # an environment may raise anything; the others have to be closed as well
            logger.warning("The environment in slot %d could not be closed", self.first_slot + i, exc_info=True)


class ThreadVectorEnv(SyncVectorEnv):
    """Steps its environments at the same time in threads, for environments that wait for tools or servers."""

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env]],
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        max_threads: int = 64,
        num_threads: int | None = None,
    ) -> None:
        super().__init__(env_fns, autoreset_mode)
        number = len(env_fns) if num_threads is None else num_threads  # slots may be added later
        self._threads = ThreadPoolExecutor(max(1, min(number, max_threads)), thread_name_prefix="gem-vector")

    def reset_some(self, seeds: Mapping[int, int | None]) -> dict[int, tuple[str, Info]]:
        """See `VectorEnv.reset_some`."""
        self._check_open()
        results = _SlotThreads(self._threads, lambda i: self.reset_one(i, seeds[i]), seeds).finish()
        return {i: results[i] for i in seeds}

    def step_each(self, actions: Actions) -> list[Step]:
        """See `VectorEnv.step_each`. All turns are taken before a `UsageError` of one of them is raised."""
        self._check_open()
        action_list = self._actions_by_slot(actions)
        slots = [i for i, action in enumerate(action_list) if action is not None]
        steps = _SlotThreads(self._threads, lambda i: self._step_one(i, action_list[i] or ""), slots).finish()
        return [steps.get(i, IDLE_STEP) for i in range(len(action_list))]

    def close(self) -> None:
        """See `VectorEnv.close`."""
        self._threads.shutdown()
        super().close()


class _SlotThreads(Generic[T]):
    """Runs a function on many slots in threads, so that a slot that waits does not delay the others.

    A thread takes one slot after the other. Before each, it starts a further thread unless one is about to start. If
    no slot waits, the first thread finishes all slots before a second one runs, which costs 1 µs of CPU time for each
    slot; waking a thread for each of 64 slots would cost 7 µs.
    """

    def __init__(self, threads: ThreadPoolExecutor, work: Callable[[int], T], slots: Iterable[int]) -> None:
        self.threads = threads
        self.work = work
        self.pending_slots = deque(slots)
        self.results: dict[int, T] = {}
        self.errors: dict[int, UsageError] = {}
        self.futures: list[Future[None]] = []
        self.is_thread_starting = False

    def finish(self) -> dict[int, T]:
        """Run all slots and return the result of each.

        Raises:
            UsageError: that of the first slot that raised one, after all slots are done.
        """
        self._start_thread()
        try:
            for future in self.futures:  # running threads may append to the list during the loop
                if self.pending_slots or not future.cancel():  # without pending slots, no further thread is needed
                    future.result()
        except BaseException:  # after an interrupt, running turns must end before the next step
            self.pending_slots.clear()
            wait(future for future in self.futures if not future.cancel())
            raise
        if self.errors:
            raise self.errors[min(self.errors)]
        return self.results

    def _start_thread(self) -> None:
        self.is_thread_starting = True
        self.futures.append(self.threads.submit(self._run))

    def _run(self) -> None:
        self.is_thread_starting = False
        while self.pending_slots:
            try:
                slot = self.pending_slots.popleft()
            except IndexError:  # another thread took the last one
                return
            if self.pending_slots and not self.is_thread_starting:
                self._start_thread()
            try:
                self.results[slot] = self.work(slot)
            except UsageError as error:
                self.errors[slot] = error
