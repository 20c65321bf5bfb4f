"""GEM's import paths as aliases, so that scripts written for GEM can import them although our modules are elsewhere.

`ALIASES` maps GEM's modules to ours. An alias is resolved when it is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType

GAME_CLASSES = {
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
"""GEM's modules of games and the class in each."""

ALIASES: Mapping[str, Mapping[str, str]] = {
    "gem.envs.registration": {
        "ENV_REGISTRY": "gem.registry",
        "EnvSpec": "gem.registry",
        "make": "gem.factory",
        "make_vec": "gem.vector.make",
        "print_envs": "gem.registry",
        "register": "gem.registry",
    },
    **{f"gem.envs.game_env.{module}": {name: "gem.compat.games"} for module, name in GAME_CLASSES.items()},
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
"""GEM's module to its names, and each name to the module that has it here; `module:name` where the name differs."""


PACKAGES = ("gem.utils", "gem.envs.game_env")
"""GEM's packages that contain only modules of `ALIASES`."""


class AliasFinder:
    """An import hook for the modules of `ALIASES`; real modules take precedence."""

    @staticmethod
    def find_spec(
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG004 (importlib's interface)
        target: ModuleType | None = None,  # noqa: ARG004
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder.find_spec`."""
        if fullname not in ALIASES and fullname not in PACKAGES:
            return None
        return ModuleSpec(fullname, AliasFinder, is_package=fullname in PACKAGES)  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        """See `importlib.abc.Loader.create_module`; None stands for an ordinary module."""

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """See `importlib.abc.Loader.exec_module`."""
        names = ALIASES.get(module.__name__, {})
        for name, target in names.items():
            module_name, _, attribute = target.partition(":")
            setattr(module, name, getattr(import_module(module_name), attribute or name))
        targets = ", ".join(sorted({target.partition(":")[0] for target in names.values()}))
        module.__doc__ = f"GEM's name for what is in {targets}." if targets else "GEM's folder of small modules."
        module.__all__ = list(names)  # type: ignore[attr-defined]


def install() -> None:
    """Add the import hook. Further calls have no effect."""
    if AliasFinder not in sys.meta_path:
        sys.meta_path.append(AliasFinder)
