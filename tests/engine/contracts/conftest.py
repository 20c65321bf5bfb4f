"""Contract tests take `env_id` and run for every registered environment."""

import pytest

import gem


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give `env_id` every registered id."""
    if "env_id" in metafunc.fixturenames:
        metafunc.parametrize("env_id", [spec.id for spec in gem.registry.specs()])


@pytest.fixture
def env(env_id: str) -> gem.Env:
    """The environment, not yet reset."""
    return gem.make(env_id)
