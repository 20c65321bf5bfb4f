"""Services start here, before Django reads its settings, and only for tests that need them."""

import os
from collections.abc import Iterator
from typing import Any

import pytest

from tests import services
from tests.browser import FLAGS, MISSING, find_browser

FIRST_OF_WORKERS = 8
"""The Valkey database of the first worker of pytest-xdist; those below belong to the sites of the walks."""

os.environ["GEM_DATA_FROM"] = "sample"  # the same problems on every machine, and no network


def pytest_configure(config: pytest.Config) -> None:
    """Start Postgres and Valkey unless the environment names them or only the engine is tested.

    pytest-django sets Django up after this hook, because the settings module is named here and not in
    pyproject.toml. Workers of pytest-xdist inherit the environment of the process that started them.
    """
    if config.option.help or not services.needs_services(config.args, config.invocation_params.dir):
        return
    for name, value in services.session_environment().items():
        os.environ.setdefault(name, value)
    started = services.start_services(os.environ)
    if started is not None:
        config.add_cleanup(started.stop)
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:  # its databases are its own already
        index = FIRST_OF_WORKERS + int(worker.removeprefix("gw"))
        os.environ["VALKEY_URL"] = services.valkey_database(os.environ["VALKEY_URL"], index)
    from django.conf import settings  # not for engine tests

    assert settings.DATABASES  # read now, or pytest-django takes Django for unused


@pytest.fixture(scope="session")
def stack() -> Iterator[services.Stack]:
    """One whole running stack for the session, with demo data; `stack.url` is its address."""
    with services.running_stack() as running:
        assert running.url
        yield running


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Launch the system's Chromium where there is one."""
    path = find_browser()
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    return {**browser_type_launch_args, "executable_path": path, "args": FLAGS}


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests with a browser last: its event loop stays in this thread, where no other one can run then."""
    items.sort(key=lambda item: "browser" in getattr(item, "fixturenames", ()))
