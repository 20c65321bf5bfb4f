"""How the tests are set up, in the order in which it happens.

1. `pytest_configure`: this process gets a Postgres and a Valkey of its own before Django reads its settings. Tests of
   the engine and of the examples know no web and start neither.
2. `pytest_collection_modifyitems`: a test with a browser is a walk, and walks come last.
3. The fixtures: the test database, one whole stack as `make up` runs it, and a browser.

With `-n 2` the tests are shared by two processes, pytest-xdist's workers; a third one, its controller, only hands them
out. Each worker goes through all three steps, because the channels of a Valkey are common to all of its databases: what
one process published would reach the other's. The controller goes through none.
"""

import os
import tempfile
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from tests import services
from tests.browser import FLAGS, MISSING, find_browser

os.environ["GEM_DATA_FROM"] = "sample"  # the same problems on every machine, and no network


# ------------------------------------------------------------------ 1. services


def pytest_configure(config: pytest.Config) -> None:
    """Start Postgres and Valkey unless the environment names them or only the engine is tested.

    pytest-django sets Django up after this hook, because the settings module is named here and not in pyproject.toml.
    What the controller named here its workers would inherit, and they would have no services of their own.
    """
    raised_in_thread = "error::pytest.PytestUnhandledThreadExceptionWarning"
    config.addinivalue_line("filterwarnings", raised_in_thread)  # it fails the test, instead of being said in passing
    if config.option.help or is_controller(config):
        return
    if not services.needs_services(config.args, config.invocation_params.dir):
        return
    state = tempfile.TemporaryDirectory(prefix="gemweb-test-state-")
    config.add_cleanup(state.cleanup)
    for name, value in services.session_environment(state.name).items():
        os.environ.setdefault(name, value)
    _take_databases_of_its_own()
    started = services.start_services(os.environ)
    if started is not None:
        config.add_cleanup(started.stop)
    from django.conf import settings  # not for engine tests

    assert settings.DATABASES  # read now, or pytest-django takes Django for unused
    settings.PASSWORD_HASHERS = ["tests.hashers.Quick"]


def is_controller(config: pytest.Config) -> bool:
    """Whether this process hands the tests to others: it was told where to run them (`-n 2` becomes two `tx`)."""
    return bool(config.getoption("tx", None)) and "PYTEST_XDIST_WORKER" not in os.environ


def _take_databases_of_its_own() -> None:
    """Where all workers were given one Valkey: two of its databases for each, one for tests and one for a stack."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker and "VALKEY_URL" in os.environ:
        taken = 2 * int(worker.removeprefix("gw"))
        os.environ["VALKEY_URL"] = services.valkey_database(os.environ["VALKEY_URL"], taken)


# ------------------------------------------------------------------ 2. order


@pytest.hookimpl(hookwrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Call every test with a browser a walk, and put them last.

    A browser's event loop stays in its thread, where no other one can run then. Processes take whole files in this
    order, so a file with a browser has no other tests.
    """
    for item in items:
        if has_browser(item):
            item.add_marker("walk")  # before tests are chosen by their marks
    yield
    items.sort(key=has_browser)
    mixed = {item.path for item in items if has_browser(item)} & {item.path for item in items if not has_browser(item)}
    if mixed:
        raise pytest.UsageError(f"Tests with a browser need a file of their own: {', '.join(map(str, sorted(mixed)))}.")


def has_browser(item: pytest.Item) -> bool:
    """Whether this test drives a browser."""
    return "browser" in getattr(item, "fixturenames", ())


# ------------------------------------------------------------------ 3. fixtures


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:
    """The test database. Tests that commit empty it at their end; what migrations wrote is then written again.

    One process has such tests last, where nobody misses that; several take them file by file, between the others.
    """
    from django.apps import apps
    from django.db.models.signals import post_migrate  # noqa: TID251 (how Django says that it has emptied tables)

    add = import_module("apps.agents.migrations.0002_built_in_agents").add
    agents = apps.get_app_config("agents")

    def write_again(**_: Any) -> None:
        add(apps, None)

    post_migrate.connect(write_again, sender=agents)
    yield
    post_migrate.disconnect(write_again, sender=agents)


@pytest.fixture(scope="session")
def stack() -> Iterator[services.Stack]:
    """One whole running stack for the session, with demo data; `stack.url` is its address."""
    with services.running_stack() as running:
        assert running.url
        running.cancel_jobs()
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
