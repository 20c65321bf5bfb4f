"""`gem.make_vec`, which makes a vector of registered environments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from gem import registry
from gem.compat.arguments import translated
from gem.core import Env
from gem.errors import InvalidArgument
from gem.factory import make
from gem.validation.values import check_seed
from gem.vector.base import AutoresetMode, VectorEnv
from gem.vector.shards import ShardVectorEnv
from gem.vector.sync import SyncVectorEnv, ThreadVectorEnv

Backend = Literal["sync", "threads", "processes"]


def make_vec(
    env_ids: str | Sequence[str],
    wrappers: Sequence[Callable[[Env], Env] | Mapping[str, Any]] | None = None,
    vec_kwargs: Sequence[Mapping[str, Any]] | None = None,
    async_mode: bool | Backend = False,
    seed: int | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    **kwargs: Any,
) -> VectorEnv:
    """Make a vector with one environment for each of `env_ids`, which may differ; a single id gives a vector of one.

    Args:
        wrappers: what is put around each environment, innermost first: functions (see `gem.wrappers.get_wrapper_fns`),
            or plain data as for `gem.wrappers.wrap`, such as `{"name": "time_limit", "max_turns": 20}`.
        vec_kwargs: the arguments of each environment, one mapping for each of `env_ids`.
        async_mode: how the environments are stepped. False: one after the other in this thread. True: in threads if one
            of them is registered as slow (`EnvSpec.cost`), otherwise as with False. Or by name: "sync", "threads",
            "processes". The turns are the same in all modes.
        seed: the seed of the first environment; environment i gets `seed + i`.
        autoreset_mode: what happens at the end of an episode.
        kwargs: arguments of all environments.

    Raises:
        UnknownEnvironment: if an id is not registered.
        InvalidArgument: if there are no ids, `vec_kwargs` has another length, or an argument is unknown.
    """
    if isinstance(env_ids, str):
        second_argument: object = wrappers
        num_envs = second_argument if isinstance(second_argument, int) else kwargs.get("num_envs")
        if num_envs is not None:
            raise InvalidArgument(f"make_vec takes as many ids as environments: [{env_ids!r}] * {num_envs!r:.9}.")
        env_ids = [env_ids]
    if not env_ids or not hasattr(env_ids, "__len__"):
        raise InvalidArgument('make_vec takes a list with one id for each environment: ["game:..."] * 8.')
    if isinstance(vec_kwargs, Mapping):
        raise InvalidArgument(
            "vec_kwargs is a list with arguments for each environment; those of all are given by name."
        )
    if vec_kwargs is not None and len(vec_kwargs) != len(env_ids):
        raise InvalidArgument(f"{len(env_ids)} environments need as many vec_kwargs, not {len(vec_kwargs)}.")
    wrapper_fns = _wrapper_functions(wrappers or ())
    arguments_by_env = [{**kwargs, **(vec_kwargs[i] if vec_kwargs is not None else {})} for i in range(len(env_ids))]
    if seed is not None:
        first_seed = check_seed(seed)
        arguments_by_env = [{"seed": first_seed + i, **arguments} for i, arguments in enumerate(arguments_by_env)]
    requests = [translated(env_id, args) for env_id, args in zip(env_ids, arguments_by_env, strict=True)]
    env_fns = [partial(_make_env, registry.spec(env_id), arguments, wrapper_fns) for env_id, arguments in requests]
    return _vector_class([env_id for env_id, _ in requests], async_mode)(env_fns, autoreset_mode)


def _wrapper_functions(wrappers: Sequence[Callable[[Env], Env] | Mapping[str, Any]]) -> list[Callable[[Env], Env]]:
    """Return a function that puts each of the wrappers around an environment.

    Raises:
        InvalidArgument: if one is neither a function nor a dictionary, is unknown, or lacks an argument.
    """
    if not wrappers:
        return []
    from gem.wrappers.wrapper_factory import check_complete, wrap  # noqa: PLC0415 (wrappers are slow to import)

    functions: list[Callable[[Env], Env]] = []
    for wrapper in [wrappers] if isinstance(wrappers, str | Mapping) or callable(wrappers) else wrappers:
        if isinstance(wrapper, Mapping):
            functions.append(partial(wrap, wrappers=[wrapper]))
        elif callable(wrapper):
            check_complete(wrapper)
            functions.append(wrapper)
        else:
            raise InvalidArgument(
                f"wrappers are functions: get_wrapper_fns({wrappers!r}) gives those of these names. Or they are "
                f"dictionaries: [{{'name': {wrapper!r:.60}}}]."
            )
    return functions


def _make_env(spec: registry.EnvSpec, arguments: Mapping[str, Any], wrappers: Sequence[Callable[[Env], Env]]) -> Env:
    registry.ENV_REGISTRY.setdefault(spec.id, spec)  # another process does not have what a script registered
    env = make(spec.id, **arguments)
    try:
        for wrapper in wrappers:
            wrapped = wrapper(env)
            if not isinstance(wrapped, Env):
                raise InvalidArgument(f"A wrapper gave a {type(wrapped).__name__}, which is no gem.Env.")
            env = wrapped
    except BaseException:  # no other code has a reference that could close it
        env.close()
        raise
    return env


def _vector_class(env_ids: Sequence[str], async_mode: bool | Backend) -> Callable[..., VectorEnv]:
    if isinstance(async_mode, str):
        backend: str = async_mode
    else:
        slow = async_mode and any(registry.spec(env_id).cost == "slow" for env_id in set(env_ids))
        backend = "threads" if slow else "sync"
    if backend not in BACKENDS:
        raise InvalidArgument(f"async_mode is True, False or one of {', '.join(BACKENDS)}, not {async_mode!r}.")
    return BACKENDS[backend]


BACKENDS: Mapping[str, Callable[..., VectorEnv]] = {
    "sync": SyncVectorEnv,
    "threads": ThreadVectorEnv,
    "processes": ShardVectorEnv,
}
