"""GEM's import paths as aliases, so that scripts written for GEM can import them although our modules are elsewhere.

`ALIASES` maps GEM's modules to ours. An alias is resolved when it is imported.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

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


def _all_in(module: str, *names: str) -> Mapping[str, str]:
    """Names that have the same name in one module of ours."""
    return dict.fromkeys(names, module)


ALIASES: Mapping[str, Mapping[str, str]] = {
    "gem.__about__": _all_in("gem.version", "__version__"),
    "gem.multiagent": _all_in("gem.compat.multiagent", "AgentSelector", "MultiAgentEnv"),
    "gem.envs.registration": {
        **_all_in("gem.registry", "ENV_REGISTRY", "EnvSpec", "print_envs", "register"),
        "make": "gem.factory",
        "make_vec": "gem.vector.make",
    },
    **{f"gem.envs.game_env.{module}": _all_in("gem.compat.games", name) for module, name in GAME_CLASSES.items()},
    "gem.envs.game_env.crosswords.crosswords": _all_in("gem.compat.games", "CrosswordsEnv"),
    "gem.envs.game_env.sokoban.sokoban": _all_in("gem.compat.games", "SokobanEnv"),
    "gem.envs.game_env.wikigame": _all_in("gem.compat.games", "WikiGameEnv"),
    "gem.envs.game_env.wikigame.rewards": {"WikiGameReward": "gem.envs.game:LanguageGameReward"},
    "gem.envs.game_env.wikigame.wikigame": _all_in("gem.compat.games", "WikiGameEnv"),
    "gem.envs.code_env": _all_in("gem.compat.problems", "CodeEnv"),
    "gem.envs.math_env": _all_in("gem.compat.problems", "MathEnv"),
    "gem.envs.math_visual_env": _all_in("gem.compat.problems", "MathVisualEnv"),
    "gem.envs.multiagent.multi_agent_env": _all_in("gem.compat.multiagent", "AgentSelector", "MultiAgentEnv"),
    "gem.envs.qa_env": _all_in("gem.compat.problems", "QaEnv", "apply_prompt"),
    "gem.envs.reasoning_gym": _all_in("gem.envs.reasoning.dataset", "ReasoningGymEnv"),
    "gem.envs.webshop.webshop": _all_in("gem.compat.games", "WebshopEnv"),
    "gem.tools.base_tool": _all_in("gem.tools.tool", "BaseTool"),
    "gem.tools.mcp_server.time_mcp": _all_in(
        "gem.compat.time_server", "app", "convert_time", "current_time", "days_in_month", "get_timestamp",
        "get_week_year", "main", "relative_time",
    ),
    "gem.tools.search_engine.retrieval_server": _all_in("gem.tools.search.serving", "SearchServer", "main"),
    "gem.utils.constants": {
        "BASE_IMPORTS": "gem.tools.python_code_tool:PRELUDE",
        "LanguageGameReward": "gem.envs.game",
        "TERMINAL_STATE": "gem.compat.debug",
    },
    "gem.utils.debug": _all_in(
        "gem.compat.debug", "run_and_print_episode", "run_and_print_episode_async",
        "run_and_print_episode_with_random_selection", "run_and_print_episode_with_selective_step",
    ),
    "gem.utils.math_grader": _all_in(
        "gem.compat.grading", "answer_tag_reward_fn", "boxed_reward_fn", "extract_answer", "grade", "is_latex_equal",
        "last_boxed_only_string", "normalize_final_answer", "remove_boxed",
    ),
    "gem.utils.parsing": {
        **_all_in(
            "gem.grading.parsing", "extract_code_from_model", "extract_last_boxed_answer",
            "extract_last_tagged_answer",
        ),
        **_all_in("gem.compat.grading", "last_boxed_only_string", "remove_boxed"),
    },
    "gem.utils.qa_em": {"em_check": "gem.grading.answers:exact_match", "normalize_answer": "gem.grading.answers"},
    "gem.utils.sandbox": _all_in(
        "gem.compat.sandbox", "DEFAULT_TIMEOUT", "ERROR_MSG_PREFIX", "check_forbidden_imports", "run_python"
    ),
    "gem.utils.seeding": _all_in("gem.compat.global_rng", "np_random", "set_seed"),
    "gem.vector.async_vector_env": {"AsyncVectorEnv": "gem.vector.sync:ThreadVectorEnv"},
    "gem.vector.sync_vector_env": _all_in("gem.vector.sync", "SyncVectorEnv"),
    "gem.vector.vector_env": _all_in("gem.vector.base", "AutoresetMode", "VectorEnv"),
}  # fmt: skip
"""GEM's module to its names, and each name to the module that has it here; `module:name` where the name differs."""


PACKAGES = (
    "gem.envs.game_env", "gem.envs.game_env.crosswords", "gem.envs.game_env.sokoban", "gem.envs.game_env.wikigame",
    "gem.envs.webshop", "gem.tools.mcp_server", "gem.tools.search_engine", "gem.utils",
)  # fmt: skip
"""GEM's packages that contain modules of `ALIASES`; two of them are modules of games as well."""
ENVIRONMENTS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    f"webshop:{split}-{mode}": (env_id, {"mode": mode, "max_turns": 15})
    for split, env_id in (("train", "shop:WebShop-v0-easy"), ("test", "shop:WebShop-v0-hard"))
    for mode in ("html", "text", "text_rich")
}
"""GEM's id to ours, and the arguments with which that is the same environment. They are not in the catalog."""


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

    @staticmethod
    def get_code(fullname: str) -> CodeType | None:
        """The program that `python -m` runs, for modules with a `main`; None for all others."""
        target = ALIASES.get(fullname, {}).get("main", "").partition(":")[0]
        return compile(f"from {target} import main\nmain()", fullname, "exec") if target else None


def install() -> None:
    """Add the import hook. Further calls have no effect."""
    if AliasFinder not in sys.meta_path:
        sys.meta_path.append(AliasFinder)
