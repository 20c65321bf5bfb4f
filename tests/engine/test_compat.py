"""Import paths of GEM's that are not our structure."""

from importlib import import_module

import pytest

import gem
from gem.compat import ALIASES, AliasFinder, install


@pytest.mark.parametrize(
    ("path", "name", "home"), [(path, name, home) for path, names in ALIASES.items() for name, home in names.items()]
)
def test_an_alias_is_the_very_thing(path: str, name: str, home: str) -> None:
    assert getattr(import_module(path), name) is getattr(import_module(home), name)


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
        "from gem import make, make_vec, print_envs, register",
        "import gem.envs.registration as registration; registration.ENV_REGISTRY['game:Sokoban-v0']",
    ],
)
def test_imports_of_scripts_for_gem_work(statement: str) -> None:
    names: dict[str, object] = {}
    exec(statement, names)
    assert len(names) > 1


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
