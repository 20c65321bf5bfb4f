"""gem: environments for language-model agents, with one contract (see `gem.core`).

import gem

env = gem.make("game:GuessTheNumber-v0-easy")
obs, info = env.reset(seed=7)
obs, reward, terminated, truncated, info = env.step("\\boxed{5}")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gem import compat
from gem.core import Env, EnvWrapper
from gem.registry import make, print_envs, register, spec

if TYPE_CHECKING:
    from gem.envs.mixture import register_mixture
    from gem.vector.make import make_vec

compat.install()

__version__ = "0.1.0"
PARTS = frozenset({"agents", "envs", "errors", "seats", "tools", "vector", "views", "wrappers"})
"""Modules that need no import of their own: `gem.wrappers.get_wrapper_fns("concat")`."""
__all__ = ["Env", "EnvWrapper", "make", "make_vec", "print_envs", "register", "register_mixture", "spec"]


def __getattr__(name: str) -> Any:
    """Load what takes longer to import than all the rest when it is first used: `make_vec`, our environments."""
    if name in PARTS:
        return import_module(f"gem.{name}")
    if name not in ("make_vec", "register_mixture"):
        raise AttributeError(f"module 'gem' has no attribute {name!r}")
    if name == "register_mixture":
        from gem.envs.mixture import register_mixture  # noqa: PLC0415

        return register_mixture
    from gem.vector.make import make_vec  # noqa: PLC0415

    return make_vec
