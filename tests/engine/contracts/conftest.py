"""Contract tests take `env_id` and run for one environment of each kind; those that take `any_id` run for every id.

Of large families that share one class a few are played (`tests/engine/ids.py`).
"""

import pytest

import gem
from tests.engine.ids import kinds, played


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `env_id` and `any_id` the registered ids."""
    if "env_id" in metafunc.fixturenames:
        metafunc.parametrize("env_id", kinds())
    if "any_id" in metafunc.fixturenames:
        metafunc.parametrize("any_id", played())


@pytest.fixture
def env(env_id: str) -> gem.Env:
    """The environment, not yet reset."""
    return gem.make(env_id)
