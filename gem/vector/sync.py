"""Environments in this process, stepped one after the other, or in threads where they wait for something."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Generic, TypeVar

from gem.core import Env, Info, State, Step, reading_state
from gem.errors import EpisodeOver, UsageError
from gem.vector.base import CLOSED, IDLE, Actions, AutoresetMode, VectorEnv

logger = logging.getLogger(__name__)
T = TypeVar("T")


class SyncVectorEnv(VectorEnv):
    """Steps its environments one after the other; see `VectorEnv`."""

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env]],
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    ) -> None:
        self.env_fns = list(env_fns)
        self.autoreset_mode = self._mode(autoreset_mode)
        self._envs: list[Env | None] = [None] * len(self.env_fns)
        self._ended = [False] * len(self.env_fns)
        self._closed = False
        try:
            for i in range(len(self.env_fns)):
                self.env(i)
        except BaseException:  # even if this is interrupted: nobody else knows of those that were made
            self._close_all()
            raise

    @property
    def num_envs(self) -> int:
        """How many slots there are."""
        return len(self.env_fns)

    @property
    def envs(self) -> list[Env]:
        """The environments; one that broke is made anew."""
        return [self.env(i) for i in range(self.num_envs)]

    def env(self, i: int) -> Env:
        """The environment in slot `i`, made if it has to be."""
        env = self._envs[i]
        if env is None:
            env = self._envs[i] = self.env_fns[i]()
        return env

    def reset_some(self, seeds: Mapping[int, int | None]) -> dict[int, tuple[str, Info]]:
        """As `VectorEnv.reset_some`."""
        self._check_open()
        return {i: self.reset_one(i, seed) for i, seed in seeds.items()}

    def reset_one(self, i: int, seed: int | None = None) -> tuple[str, Info]:
        """Begin an episode in slot `i`; if its environment breaks, "" and an info with `failure`."""
        try:
            observation, info = self.env(i).reset(seed=seed)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 (whatever one environment raises, the others go on)
            return "", self._fail(i, error)
        self._ended[i] = False
        return observation, info

    def step_each(self, actions: Actions) -> list[Step]:
        """As `VectorEnv.step_each`."""
        self._check_open()
        step_one = self._step_one
        return [IDLE if action is None else step_one(i, action) for i, action in enumerate(self._listed(actions))]

    def get_states(self) -> list[State]:
        """As `VectorEnv.get_states`; whether an episode has ended is kept beside the environment's own."""
        self._check_open()
        return [{"env": env.get_state(), "ended": ended} for env, ended in zip(self.envs, self._ended, strict=True)]

    def set_states(self, states: Sequence[State]) -> None:
        """As `VectorEnv.set_states`."""
        self._check_open()
        self._check_length("states", states)
        for i, state in enumerate(states):
            with reading_state(self.env(i)):
                inside, ended = state["env"], state["ended"]
            self.env(i).set_state(inside)
            self._ended[i] = ended

    def add(self, env_fn: Callable[[], Env]) -> int:
        """Add a slot and return its index; its environment is made by the first reset."""
        self.env_fns.append(env_fn)
        self._envs.append(None)
        self._ended.append(True)
        return self.num_envs - 1

    def replace(self, i: int, env_fn: Callable[[], Env]) -> None:
        """Close the environment in slot `i`; the next reset makes another one with `env_fn`."""
        self._close_one(i)
        self.env_fns[i] = env_fn

    def close(self) -> None:
        """As `VectorEnv.close`."""
        self._closed = True
        self._close_all()

    def _check_open(self) -> None:
        if self._closed:
            raise UsageError(CLOSED)

    def _step_one(self, i: int, action: str) -> Step:
        if self._ended[i] and self.autoreset_mode is not AutoresetMode.DISABLED:
            observation, info = self.reset_one(i)
            return observation, 0.0, False, self._ended[i], info
        env = self._envs[i]
        if env is None:
            raise EpisodeOver(f"The environment in slot {i} has no episode; reset it first.")
        try:
            observation, reward, terminated, truncated, info = step = env.step(action)
        except UsageError:
            raise
        except Exception as error:  # noqa: BLE001 (whatever one environment raises, the others go on)
            observation, reward, terminated, truncated, info = step = "", 0.0, False, True, self._fail(i, error)
        if not (terminated or truncated):
            return step
        self._ended[i] = True
        if self.autoreset_mode is not AutoresetMode.SAME_STEP:
            return step
        first_observation, first_info = self.reset_one(i)
        first_info = {**first_info, "final_observation": observation, "final_info": info}
        return first_observation, reward, terminated, truncated, first_info

    def _fail(self, i: int, error: Exception) -> Info:
        logger.warning("The environment in slot %d failed", i, exc_info=error)
        self._close_one(i)
        self._ended[i] = True
        return {"failure": f"{type(error).__name__}: {error}"}

    def _close_all(self) -> None:
        for i in range(self.num_envs):
            self._close_one(i)

    def _close_one(self, i: int) -> None:
        env, self._envs[i] = self._envs[i], None
        if env is None:
            return
        try:
            env.close()
        except Exception:  # whatever one environment raises as it goes, the others go on
            logger.warning("The environment in slot %d could not be closed", i, exc_info=True)


class ThreadVectorEnv(SyncVectorEnv):
    """Steps its environments at the same time, each in a thread: for those that wait for tools or servers."""

    def __init__(
        self,
        env_fns: Sequence[Callable[[], Env]],
        autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
        max_threads: int = 64,
    ) -> None:
        super().__init__(env_fns, autoreset_mode)
        self._threads = ThreadPoolExecutor(max(1, min(len(env_fns), max_threads)), thread_name_prefix="gem-vector")

    def reset_some(self, seeds: Mapping[int, int | None]) -> dict[int, tuple[str, Info]]:
        """As `VectorEnv.reset_some`."""
        self._check_open()
        begun = _AtOnce(self._threads, lambda i: self.reset_one(i, seeds[i]), seeds).finish()
        return {i: begun[i] for i in seeds}

    def step_each(self, actions: Actions) -> list[Step]:
        """As `VectorEnv.step_each`. Every turn is taken before the first misuse, if any, is raised."""
        self._check_open()
        listed = self._listed(actions)
        slots = [i for i, action in enumerate(listed) if action is not None]
        steps = _AtOnce(self._threads, lambda i: self._step_one(i, listed[i] or ""), slots).finish()
        return [steps.get(i, IDLE) for i in range(len(listed))]

    def close(self) -> None:
        """As `VectorEnv.close`."""
        self._threads.shutdown()
        super().close()


class _AtOnce(Generic[T]):
    """Work on many slots in threads, in which a slot that waits holds up no other.

    A thread goes on from slot to slot, and calls another one only if none has been called that has yet to come. Where
    nothing waits, the first thread is through before a second one runs: waking a thread for each of 64 slots costs 7 µs
    of CPU time a slot, this 1 µs.
    """

    def __init__(self, threads: ThreadPoolExecutor, work: Callable[[int], T], slots: Iterable[int]) -> None:
        self.threads = threads
        self.work = work
        self.todo = deque(slots)
        self.done: dict[int, T] = {}
        self.misuses: dict[int, UsageError] = {}
        self.called: list[Future[None]] = []
        self.coming = False

    def finish(self) -> dict[int, T]:
        """What the work gave for each slot.

        Raises:
            UsageError: the first slot's, once all slots are done.
        """
        self._call()
        try:
            for helper in self.called:  # helpers that run may call more, which the loop comes to
                if self.todo or not helper.cancel():  # one that comes to nothing need not come
                    helper.result()
        except BaseException:  # Ctrl-C: what is begun must end before anybody steps the same environments
            self.todo.clear()
            wait(helper for helper in self.called if not helper.cancel())
            raise
        if self.misuses:
            raise self.misuses[min(self.misuses)]
        return self.done

    def _call(self) -> None:
        self.coming = True
        self.called.append(self.threads.submit(self._help))

    def _help(self) -> None:
        self.coming = False
        while self.todo:
            try:
                slot = self.todo.popleft()
            except IndexError:  # another thread took the last one
                return
            if self.todo and not self.coming:
                self._call()
            try:
                self.done[slot] = self.work(slot)
            except UsageError as misuse:
                self.misuses[slot] = misuse
