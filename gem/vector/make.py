"""`gem.make_vec`: a vector of registered environments."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from time import process_time
from typing import Any, Literal

from gem import registry
from gem.core import Env, check_seed
from gem.errors import InvalidArgument
from gem.factory import make
from gem.vector.base import AutoresetMode, VectorEnv
from gem.vector.shards import ShardVectorEnv, can_fork
from gem.vector.sync import SyncVectorEnv, ThreadVectorEnv

logger = logging.getLogger(__name__)

Backend = Literal["sync", "threads", "processes"]


def make_vec(
    env_ids: str | Sequence[str],
    wrappers: Sequence[Callable[[Env], Env]] | None = None,
    vec_kwargs: Sequence[Mapping[str, Any]] | None = None,
    async_mode: bool | Backend = False,
    seed: int | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    **kwargs: Any,
) -> VectorEnv:
    """Environments stepped together, one for each of `env_ids` (a single id is a vector of one); they may differ.

    Args:
        wrappers: applied to each environment, innermost first (see `gem.wrappers.get_wrapper_fns`).
        vec_kwargs: arguments of each environment, as many as `env_ids`.
        async_mode: where they are stepped. False: here, one after the other. True: chosen by what the environments
            declare and by how many there are: threads where one waits for tools or servers; processes from `MANY` on,
            if a few random turns show that each takes `WORTH_SENDING`; here otherwise. Or by name: "sync", "threads",
            "processes". The turns are the same everywhere.
        seed: environment i starts from `seed + i`.
        autoreset_mode: what follows the end of an episode.
        kwargs: arguments of all environments.

    Raises:
        UnknownEnvironment: if an id is not registered.
        InvalidArgument: if there are no ids, `vec_kwargs` has another length, or an argument is unknown.
    """
    if isinstance(env_ids, str):
        given: object = wrappers
        wanted = given if isinstance(given, int) else kwargs.get("num_envs")
        if wanted is not None:
            raise InvalidArgument(f"make_vec takes as many ids as environments: [{env_ids!r}] * {wanted!r:.9}.")
        env_ids = [env_ids]
    if not env_ids or not hasattr(env_ids, "__len__"):
        raise InvalidArgument('make_vec takes a list with one id for each environment: ["game:..."] * 8.')
    if isinstance(vec_kwargs, Mapping):
        raise InvalidArgument(
            "vec_kwargs is a list with arguments for each environment; those of all are given by name."
        )
    if vec_kwargs is not None and len(vec_kwargs) != len(env_ids):
        raise InvalidArgument(f"{len(env_ids)} environments need as many vec_kwargs, not {len(vec_kwargs)}.")
    if not all(map(callable, wrappers or ())):
        raise InvalidArgument(f"wrappers are functions: get_wrapper_fns({wrappers!r}) gives those of these names.")
    own = [{**kwargs, **(vec_kwargs[i] if vec_kwargs is not None else {})} for i in range(len(env_ids))]
    if seed is not None:
        first = check_seed(seed)
        own = [{"seed": first + i, **arguments} for i, arguments in enumerate(own)]
    env_fns = [
        partial(_make_one, registry.spec(env_id), arguments, tuple(wrappers or ()))
        for env_id, arguments in zip(env_ids, own, strict=True)
    ]
    return _vector_class(env_ids, env_fns, async_mode)(env_fns, autoreset_mode)


def _make_one(spec: registry.EnvSpec, arguments: Mapping[str, Any], wrappers: Sequence[Callable[[Env], Env]]) -> Env:
    registry.ENV_REGISTRY.setdefault(spec.id, spec)  # what a script registered, another process does not know
    env = make(spec.id, **arguments)
    try:
        for wrapper in wrappers:
            wrapped = wrapper(env)
            if not isinstance(wrapped, Env):
                raise InvalidArgument(f"A wrapper gave a {type(wrapped).__name__}, which is no gem.Env.")
            env = wrapped
    except BaseException:  # even if this is interrupted: nobody else knows of it
        env.close()
        raise
    return env


def _vector_class(
    env_ids: Sequence[str], env_fns: Sequence[Callable[[], Env]], async_mode: bool | Backend
) -> Callable[..., VectorEnv]:
    backend: str = "sync"
    if isinstance(async_mode, str):
        backend = async_mode
    elif async_mode and any(registry.spec(env_id).cost == "slow" for env_id in set(env_ids)):
        backend = "threads"
    elif async_mode and len(env_ids) >= MANY and (os.cpu_count() or 1) > 1 and can_fork():
        different = dict(zip(env_ids, env_fns, strict=True))
        backend = "processes" if _are_worth_sending(list(different.values())[:TRIED]) else "sync"
    if backend not in BACKENDS:
        raise InvalidArgument(f"async_mode is True, False or one of {', '.join(BACKENDS)}, not {async_mode!r}.")
    return BACKENDS[backend]


def _are_worth_sending(env_fns: Sequence[Callable[[], Env]]) -> bool:
    """Whether turns of these environments take longer than their messages; not if they cannot be tried."""
    try:
        return _turn_seconds(env_fns) >= WORTH_SENDING
    except Exception:  # one has no random actions, or is broken: the vector reports that in its slot, or raises it
        logger.debug("How long a turn takes cannot be found out", exc_info=True)
        return False


def _turn_seconds(env_fns: Sequence[Callable[[], Env]]) -> float:
    """The CPU time of a random turn in these environments, with the resets between episodes."""
    spent, turns = 0.0, 0
    for env_fn in env_fns:
        with closing(env_fn()) as env:
            begun, over = process_time(), True
            for _ in range(TURNS_TRIED):
                if over:
                    env.reset(seed=0)
                _, _, terminated, truncated, _ = env.step(env.sample_random_action())
                over = terminated or truncated
            spent, turns = spent + process_time() - begun, turns + TURNS_TRIED
    return spent / turns


MANY = 512
"""Environments from which processes may be worth their messages."""
WORTH_SENDING = 15e-6
"""Seconds of CPU time of a turn from which they are: on two cores, turns of 6 µs came a fifth faster in processes,
turns of 43 µs four fifths (docs/benchmarks.md)."""
TRIED = 8
"""Different environments that are tried to find out."""
TURNS_TRIED = 60

BACKENDS: Mapping[str, Callable[..., VectorEnv]] = {
    "sync": SyncVectorEnv,
    "threads": ThreadVectorEnv,
    "processes": ShardVectorEnv,
}
