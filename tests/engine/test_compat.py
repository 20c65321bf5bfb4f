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
        "from gem.wrappers.wrapper_factory import WRAPPER_FACTORY, get_wrapper_fns",
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
