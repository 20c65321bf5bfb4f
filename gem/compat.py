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
    "gem.envs.math_env": {"MathEnv": "gem.envs.problems.math"},
    "gem.envs.math_visual_env": {"MathVisualEnv": "gem.envs.problems.visual"},
    "gem.envs.qa_env": {"QaEnv": "gem.envs.problems.qa"},
    "gem.envs.reasoning_gym": {"ReasoningGymEnv": "gem.envs.reasoning.dataset"},
    "gem.vector.vector_env": {"AutoresetMode": "gem.vector.base", "VectorEnv": "gem.vector.base"},
    "gem.vector.sync_vector_env": {"SyncVectorEnv": "gem.vector.sync"},
    "gem.tools.base_tool": {"BaseTool": "gem.tools.tool"},
    "gem.utils.parsing": {
        "extract_code_from_model": "gem.parsing",
        "extract_last_boxed_answer": "gem.parsing",
        "extract_last_tagged_answer": "gem.parsing",
    },
    "gem.envs.code_env": {"CodeEnv": "gem.envs.problems.code"},
    "gem.utils.debug": {"run_and_print_episode": "gem.debug"},
    "gem.utils.constants": {"TERMINAL_STATE": "gem.debug"},
}
"""GEM's module to its names, and the module that has each of them here."""


PACKAGES = ("gem.utils",)
"""Folders of GEM's that hold only modules of `ALIASES`."""


class AliasFinder:
    """Finds the modules of `ALIASES`; real modules come first."""

    @staticmethod
    def find_spec(
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG004 (importlib's interface)
        target: ModuleType | None = None,  # noqa: ARG004
    ) -> ModuleSpec | None:
        """As `importlib.abc.MetaPathFinder.find_spec`."""
        if fullname not in ALIASES and fullname not in PACKAGES:
            return None
        return ModuleSpec(fullname, AliasFinder, is_package=fullname in PACKAGES)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """As `importlib.abc.Loader.create_module`: an ordinary module."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """As `importlib.abc.Loader.exec_module`."""
        names = ALIASES.get(module.__name__, {})
        for name, home in names.items():
            setattr(module, name, getattr(import_module(home), name))
        homes = ", ".join(sorted(set(names.values())))
        module.__doc__ = f"GEM's name for what is in {homes}." if homes else "GEM's folder of small modules."
        module.__all__ = list(names)  # type: ignore[attr-defined]


def install() -> None:
    """Make the aliases importable; doing it twice is harmless."""
    if AliasFinder not in sys.meta_path:
        sys.meta_path.append(AliasFinder)
