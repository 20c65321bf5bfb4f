"""Contract tests take `env_id` and run for every registered environment (of large families for a few)."""

import pytest

import gem
from tests.engine.ids import played


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `env_id` the registered ids."""
    if "env_id" in metafunc.fixturenames:
        metafunc.parametrize("env_id", played())


@pytest.fixture
def env(env_id: str) -> gem.Env:
    """The environment, not yet reset."""
    return gem.make(env_id)
