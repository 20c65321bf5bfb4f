"""GEM's import paths that are not our structure: scripts written for GEM import them as before.

A path appears here as soon as what it names exists; where, says `ALIASES`. Nothing is loaded before it is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

ALIASES: Mapping[str, Mapping[str, str]] = {
    "gem.envs.registration": {
        "ENV_REGISTRY": "gem.registry",
        "EnvSpec": "gem.registry",
        "make": "gem.registry",
        "make_vec": "gem.vector.make",
        "print_envs": "gem.registry",
        "register": "gem.registry",
    },
}
"""GEM's module to its names, and the module that has each of them here."""


class AliasFinder:
    """Finds the modules of `ALIASES`; real modules come first."""

    @staticmethod
    def find_spec(
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG004 (importlib's interface)
        target: ModuleType | None = None,  # noqa: ARG004
    ) -> ModuleSpec | None:
        """As `importlib.abc.MetaPathFinder.find_spec`."""
        return ModuleSpec(fullname, AliasFinder) if fullname in ALIASES else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """As `importlib.abc.Loader.create_module`: an ordinary module."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """As `importlib.abc.Loader.exec_module`."""
        names = ALIASES[module.__name__]
        for name, home in names.items():
            setattr(module, name, getattr(import_module(home), name))
        module.__doc__ = "GEM's name for what is in " + ", ".join(sorted(set(names.values()))) + "."
        module.__all__ = list(names)  # type: ignore[attr-defined]


def install() -> None:
    """Make the aliases importable; doing it twice is harmless."""
    if AliasFinder not in sys.meta_path:
        sys.meta_path.append(AliasFinder)
