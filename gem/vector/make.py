"""`gem.make_vec`: a vector of registered environments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from gem import registry
from gem.core import Env
from gem.errors import InvalidArgument
from gem.vector.sync import AutoresetMode, SyncVectorEnv


def make_vec(
    env_ids: Sequence[str],
    wrappers: Sequence[Callable[[Env], Env]] | None = None,
    vec_kwargs: Sequence[Mapping[str, Any]] | None = None,
    async_mode: bool = False,
    seed: int | None = None,
    autoreset_mode: AutoresetMode | str = AutoresetMode.SAME_STEP,
    **kwargs: Any,
) -> SyncVectorEnv:
    """Environments stepped together, one for each of `env_ids`.

    Args:
        wrappers: applied to each environment, innermost first (see `gem.wrappers.get_wrapper_fns`).
        vec_kwargs: arguments of each environment, as many as `env_ids`.
        async_mode: not available yet.
        seed: environment i starts from `seed + i`.
        autoreset_mode: what follows the end of an episode.
        kwargs: arguments of all environments.

    Raises:
        UnknownEnvironment: if an id is not registered.
        InvalidArgument: if there are no ids, `vec_kwargs` has another length, or an argument is unknown.
    """
    if isinstance(env_ids, str) or not env_ids:
        raise InvalidArgument('make_vec takes a list with one id for each environment: ["game:..."] * 8.')
    if vec_kwargs is not None and len(vec_kwargs) != len(env_ids):
        raise InvalidArgument(f"{len(env_ids)} environments need as many vec_kwargs, not {len(vec_kwargs)}.")
    if async_mode:
        raise InvalidArgument("async_mode is not available yet; leave it out to step the environments in turn.")

    def make_one(i: int) -> Env:
        own = {**kwargs, **(vec_kwargs[i] if vec_kwargs is not None else {})}
        if seed is not None:
            own.setdefault("seed", seed + i)
        env = registry.make(env_ids[i], **own)
        for wrapper in wrappers or ():
            env = wrapper(env)
        return env

    return SyncVectorEnv([partial(make_one, i) for i in range(len(env_ids))], autoreset_mode)
