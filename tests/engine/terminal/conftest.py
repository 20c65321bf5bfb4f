"""These tests start programs in a sandbox; a machine that has none skips them and says why."""

import pytest

from gem.sandbox.shell import obstacle


@pytest.fixture(autouse=True)
def _sandbox() -> None:
    if obstacle():
        pytest.skip(obstacle())
