"""What the registry knows of an environment without making it."""

import pickle

import pytest

import gem
from gem import registry
from gem.errors import MissingDependency
from gem.net.addresses import ADDRESSES_VARIABLE
from gem.registry import ENV_REGISTRY, EnvSpec
from tests.engine.test_wrappers import HARD


@pytest.fixture
def needy():
    """An environment that needs one package that is there and two that are not."""
    entry_point = gem.spec(HARD).entry_point
    needs = ["pydantic", "no-such-package", "nor-this-one"]
    gem.register("test:Needy-v0", entry_point, requires=needs, turns="single", tools=["python"], seats=2)
    yield gem.spec("test:Needy-v0")
    del ENV_REGISTRY["test:Needy-v0"]


def test_a_specification_says_what_is_missing_here(needy: EnvSpec) -> None:
    assert needy.missing_packages() == ["no-such-package", "nor-this-one"]
    assert gem.spec(HARD).missing_packages() == []


def test_a_module_without_a_distribution_counts_as_installed() -> None:
    assert EnvSpec("test:A-v0", "a:A", requires=("tests", "import-linter")).missing_packages() == []


def test_making_an_environment_without_its_packages_says_what_to_install(needy: EnvSpec) -> None:
    with pytest.raises(MissingDependency, match="pip install no-such-package nor-this-one") as caught:
        gem.make(needy.id)
    assert isinstance(caught.value, ImportError)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_the_environment_of_a_server_without_its_packages_is_called_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ADDRESSES_VARIABLE, raising=False)  # a site in the same process forbids all servers
    monkeypatch.setattr(registry, "_is_installed", lambda name: name != "aiohttp")
    with pytest.raises(MissingDependency, match="An OpenEnv server needs the package aiohttp"):
        gem.make("openenv:http://127.0.0.1:9")


def test_a_command_that_a_message_names_can_be_pasted_into_a_shell() -> None:
    said = str(MissingDependency("The agent", ["mcp>=2", "httpcore[asyncio]", "torch"]))
    assert "the packages mcp>=2, httpcore[asyncio] and torch, which are not installed" in said
    assert said.endswith("pip install 'mcp>=2' 'httpcore[asyncio]' torch")


def test_a_specification_says_what_the_catalog_filters_by(needy: EnvSpec) -> None:
    assert (needy.turns, needy.tools, needy.seats, needy.replay) == ("single", ("python",), 2, "taped")
    assert needy.cost == "slow"  # what tools give comes from outside, and takes its time
    plain = gem.spec(HARD)
    assert (plain.turns, plain.tools, plain.seats, plain.category) == ("multi", (), 1, "game")
