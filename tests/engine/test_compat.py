"""Import paths of GEM's that are not our structure."""

from importlib import import_module

import pytest

import gem
from gem.compat.aliases import ALIASES, GAME_CLASSES, AliasFinder, install


@pytest.mark.parametrize(
    ("path", "name", "home"), [(path, name, home) for path, names in ALIASES.items() for name, home in names.items()]
)
def test_an_alias_is_the_very_thing(path: str, name: str, home: str) -> None:
    where, _, called = home.partition(":")
    assert getattr(import_module(path), name) is getattr(import_module(where), called or name)


@pytest.mark.parametrize(
    "statement",
    [
        "from gem.core import Env, EnvWrapper",
        "from gem.envs.multiagent import MultiAgentEnv",
        "from gem.envs.registration import ENV_REGISTRY, make, make_vec, register",
        "from gem.wrappers.episode_tracking_wrapper import EpisodeTrackingWrapper",
        "from gem.wrappers.observation_wrapper import ObservationWrapper",
        "from gem.wrappers.wrapper_factory import WRAPPER_FACTORY, TOKENIZER_REQUIRED, get_wrapper_fns",
        "from gem.utils.parsing import extract_last_boxed_answer",
        "from gem.utils.debug import run_and_print_episode",
        "from gem.utils.constants import TERMINAL_STATE",
        "import gem.utils; import gem.utils.constants as constants; constants.TERMINAL_STATE",
        "from gem.envs.reasoning_gym import ReasoningGymEnv",
        "from gem.vector.vector_env import AutoresetMode, VectorEnv",
        "from gem.vector.sync_vector_env import SyncVectorEnv",
        "from gem.vector.async_vector_env import AsyncVectorEnv",
        "from gem.core import ActType, ObsType",
        "from gem.utils.constants import LanguageGameReward; LanguageGameReward.format_error_reward",
        "from gem.utils import seeding; seeding.set_seed(1)",
        "from gem.utils.qa_em import em_check; assert em_check('The cat.', 'cat') and not em_check('a', ['cat'])",
        "from gem import make, make_vec, print_envs, register",
        "import gem.envs.registration as registration; registration.ENV_REGISTRY['game:Sokoban-v0']",
    ],
)
def test_imports_of_scripts_for_gem_work(statement: str) -> None:
    names: dict[str, object] = {}
    exec(statement, names)
    assert len(names) > 1


@pytest.mark.parametrize(("module", "name"), GAME_CLASSES.items())
def test_a_game_of_gem_is_made_by_its_class(module: str, name: str) -> None:
    env = getattr(import_module(f"gem.envs.game_env.{module}"), name)(seed=1)
    observation, info = env.reset()
    assert observation
    assert info["suffix"]
    assert env.step(env.sample_random_action())[4].get("error") != "format"


def test_the_classes_of_games_have_gems_defaults() -> None:
    made = {
        name: getattr(import_module(f"gem.envs.game_env.{module}"), name)(seed=1)
        for module, name in GAME_CLASSES.items()
    }
    for env in made.values():
        env.reset()
    turns = (100, 20, 1000, 20, 20, 20, 20, 100, 100, 100, 20, 20)
    assert {name: env.max_turns for name, env in made.items()} == dict(zip(made, turns, strict=True))
    assert len(made["WordleEnv"].secret) == 5
    assert made["MastermindEnv"].config.code_length == 4


def test_a_game_of_gem_is_registered_by_its_path() -> None:
    gem.register("custom:Sudoku-v0", "gem.envs.game_env.sudoku:SudokuEnv", clues=50, max_turns=60, scale=9)
    try:
        env = gem.make("custom:Sudoku-v0")
        assert env.reset(seed=3)[0] == gem.make("game:Sudoku-v0-hard", clues=50, max_turns=60).reset(seed=3)[0]
    finally:
        del gem.registry.ENV_REGISTRY["custom:Sudoku-v0"]


def test_what_is_registered_through_an_alias_is_registered() -> None:
    registration = import_module("gem.envs.registration")
    registration.register("game:Compat-v0", gem.spec("game:Sokoban-v0").entry_point)
    try:
        assert type(gem.make("game:Compat-v0")) is type(gem.make("game:Sokoban-v0"))
    finally:
        del gem.registry.ENV_REGISTRY["game:Compat-v0"]


def test_installing_twice_adds_nothing_and_other_names_stay_unknown() -> None:
    import sys

    install()
    assert sys.meta_path.count(AliasFinder) == 1
    with pytest.raises(ModuleNotFoundError):
        import_module("gem.envs.registrations")
    with pytest.raises(AttributeError, match="no attribute 'make_vecs'"):
        gem.make_vecs  # noqa: B018


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("It is \\boxed{4}.", "4"),
        ("\\boxed{1} or \\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("\\boxed{}", ""),
        ("\\boxed{ a }", " a "),
        ("\\boxed 4", None),
        ("\\boxed{4", None),
        ("\\boxed{1} and then \\boxed{2", None),
        ("4", None),
        ("", None),
    ],
)
def test_the_last_box_is_read_as_gem_reads_it(text: str, answer: str | None) -> None:
    from gem.utils.parsing import extract_last_boxed_answer

    assert extract_last_boxed_answer(text) == answer


def test_an_episode_is_printed_turn_by_turn(capsys: pytest.CaptureFixture[str]) -> None:
    from gem.utils.debug import run_and_print_episode

    env = gem.make("game:GuessTheNumber-v0-hard", seed=1, max_turns=2)
    run_and_print_episode(env, lambda _: "\\boxed{1}")
    out = capsys.readouterr().out
    assert out.count("Turn ") == 2
    assert "\\boxed{1}" in out
    vector = gem.make_vec(["game:GuessTheNumber-v0-hard"] * 2, seed=1)
    run_and_print_episode(vector, lambda seen: ["\\boxed{1}"] * len(seen), ignore_done=True, max_steps=3)
    assert capsys.readouterr().out.count("2/2: \\boxed{1}") == 3
