"""GEM's import paths that are not our structure: scripts written for GEM import them as before.

A path appears here as soon as what it names exists; where, says `ALIASES`. Nothing is loaded before it is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

GAMES = {
    "crosswords": "CrosswordsEnv",
    "fifteen_puzzle": "FifteenPuzzleEnv",
    "game_2048": "Game2048Env",
    "guess_the_number": "GuessTheNumberEnv",
    "hangman": "HangmanEnv",
    "mastermind": "MastermindEnv",
    "minesweeper": "MinesweeperEnv",
    "sokoban": "SokobanEnv",
    "sudoku": "SudokuEnv",
    "tower_of_hanoi": "TowerofHanoiEnv",
    "word_search": "WordSearchEnv",
    "wordle": "WordleEnv",
}
"""GEM's modules of games, each with its class."""

ALIASES: Mapping[str, Mapping[str, str]] = {
    "gem.envs.registration": {
        "ENV_REGISTRY": "gem.registry",
        "EnvSpec": "gem.registry",
        "make": "gem.factory",
        "make_vec": "gem.vector.make",
        "print_envs": "gem.registry",
        "register": "gem.registry",
    },
    **{f"gem.envs.game_env.{module}": {name: "gem.compat.games"} for module, name in GAMES.items()},
    "gem.envs.math_env": {"MathEnv": "gem.envs.problems.math"},
    "gem.envs.math_visual_env": {"MathVisualEnv": "gem.envs.problems.visual"},
    "gem.envs.qa_env": {"QaEnv": "gem.envs.problems.qa"},
    "gem.envs.reasoning_gym": {"ReasoningGymEnv": "gem.envs.reasoning.dataset"},
    "gem.vector.vector_env": {"AutoresetMode": "gem.vector.base", "VectorEnv": "gem.vector.base"},
    "gem.vector.async_vector_env": {"AsyncVectorEnv": "gem.vector.sync:ThreadVectorEnv"},
    "gem.vector.sync_vector_env": {"SyncVectorEnv": "gem.vector.sync"},
    "gem.tools.base_tool": {"BaseTool": "gem.tools.tool"},
    "gem.utils.parsing": {
        "extract_code_from_model": "gem.grading.parsing",
        "extract_last_boxed_answer": "gem.grading.parsing",
        "extract_last_tagged_answer": "gem.grading.parsing",
    },
    "gem.envs.code_env": {"CodeEnv": "gem.envs.problems.code"},
    "gem.utils.debug": {"run_and_print_episode": "gem.compat.debug"},
    "gem.utils.constants": {"LanguageGameReward": "gem.envs.game", "TERMINAL_STATE": "gem.compat.debug"},
    "gem.utils.qa_em": {
        "em_check": "gem.grading.answers:exact_match",
        "normalize_answer": "gem.grading.answers:normalize_answer",
    },
    "gem.utils.seeding": {"set_seed": "gem.compat.global_rng"},
}
"""GEM's module to its names, and the module that has each of them here; after a colon, its name if that is another."""


PACKAGES = ("gem.utils", "gem.envs.game_env")
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
            where, _, called = home.partition(":")
            setattr(module, name, getattr(import_module(where), called or name))
        homes = ", ".join(sorted({home.partition(":")[0] for home in names.values()}))
        module.__doc__ = f"GEM's name for what is in {homes}." if homes else "GEM's folder of small modules."
        module.__all__ = list(names)  # type: ignore[attr-defined]


def install() -> None:
    """Make the aliases importable; doing it twice is harmless."""
    if AliasFinder not in sys.meta_path:
        sys.meta_path.append(AliasFinder)
