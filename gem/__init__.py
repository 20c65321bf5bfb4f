"""gem: environments for language-model agents, with one contract (see `gem.core`).

import gem

env = gem.make("game:GuessTheNumber-v0-easy")
obs, info = env.reset(seed=7)
obs, reward, terminated, truncated, info = env.step("\\boxed{5}")
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gem.compat import aliases
from gem.core import Env, EnvWrapper
from gem.factory import make
from gem.registry import print_envs, register, spec
from gem.version import __version__ as __version__

if TYPE_CHECKING:
    from gem.vector.make import make_vec
    from gem.vector.mixture import register_mixture

    from . import (  # noqa: F401 (in this form they are gem's own names for type checkers)
        adapters,
        agents,
        check,
        core,
        credit,
        datasets,
        envs,
        errors,
        evaluation,
        grading,
        records,
        registry,
        replay,
        rng,
        rollout,
        sandbox,
        seats,
        tools,
        training,
        vector,
        views,
        wrappers,
    )

aliases.install()

LATER = {"make_vec": "gem.vector.make", "register_mixture": "gem.vector.mixture"}
"""What takes longer to import than all the rest, and its module; loaded when it is first used."""
PARTS = (
    "adapters",
    "agents",
    "check",
    "core",
    "credit",
    "datasets",
    "envs",
    "errors",
    "evaluation",
    "grading",
    "records",
    "registry",
    "replay",
    "rng",
    "rollout",
    "sandbox",
    "seats",
    "tools",
    "training",
    "vector",
    "views",
    "wrappers",
)
"""Modules that need no import of their own: `gem.wrappers.get_wrapper_fns("concat")`."""
__all__ = ["Env", "EnvWrapper", "make", "make_vec", "print_envs", "register", "register_mixture", "spec"]

if not TYPE_CHECKING:  # for whoever checks types, every name that is not above is a mistake

    def __getattr__(name: str) -> Any:
        """Load `LATER` and `PARTS` when they are first used."""
        if name in PARTS:
            return import_module(f"gem.{name}")
        if name in LATER:
            return getattr(import_module(LATER[name]), name)
        raise AttributeError(f"module 'gem' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Also what is loaded later."""
    return sorted({*globals(), *LATER, *PARTS})
