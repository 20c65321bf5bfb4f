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
        client,
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

LAZY_FUNCTIONS = {"make_vec": "gem.vector.make", "register_mixture": "gem.vector.mixture"}
"""Functions whose modules are slow to import, so that they are imported at the first use."""
LAZY_MODULES = (
    "adapters",
    "agents",
    "check",
    "client",
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
"""Modules that are imported at the first use, as in `gem.wrappers.get_wrapper_fns("concat")` after `import gem`."""
__all__ = ["Env", "EnvWrapper", "make", "make_vec", "print_envs", "register", "register_mixture", "spec"]

if not TYPE_CHECKING:  # with a module-level __getattr__, type checkers would accept any name

    def __getattr__(name: str) -> Any:
        """Import a member of `LAZY_FUNCTIONS` or `LAZY_MODULES` at its first use."""
        if name in LAZY_MODULES:
            return import_module(f"gem.{name}")
        if name in LAZY_FUNCTIONS:
            return getattr(import_module(LAZY_FUNCTIONS[name]), name)
        raise AttributeError(f"module 'gem' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the names of this module, those included that are imported at the first use."""
    return sorted({*globals(), *LAZY_FUNCTIONS, *LAZY_MODULES})
