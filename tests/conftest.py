"""How the tests are set up, in the order in which it happens.

1. `pytest_configure`: this process gets a Postgres and a Valkey of its own before Django reads its settings. Tests of
   the engine and of the examples know no web and start neither.
2. `pytest_collection_modifyitems`: the tests are shuffled. A test with a browser is a walk, and walks come last.
3. The fixtures: the test database, one whole stack as `make up` runs it, and a browser.

With `-n 4` the tests are shared by four processes, pytest-xdist's workers; a fifth one, its controller, only hands
them out, a file at a time (`tests/scheduling.py`), and starts the Postgres that they share.
"""

import gc
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.fixtures import reorder_items
from pytest_django import DjangoDbBlocker

from apps.garbage import leave_out_what_is_loaded
from tests import messages, scheduling, services
from tests.browser import FLAGS, MISSING, find_browser
from tests.stack_room import with_room

pytest_plugins = ["tests.counts"]
os.environ["GEM_DATA_FROM"] = "sample"  # the same problems on every machine, and no network
os.environ.setdefault("OMP_NUM_THREADS", "1")  # as many tests run at a time as there are cores, or more


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> Any:
    """Do everything with room for the frames of deep calls, or some of them map memory each time."""
    run = config.pluginmanager.subset_hook_caller("pytest_cmdline_main", [sys.modules[__name__]])
    return with_room(run, config=config)


# ------------------------------------------------------------------ 1. services


def pytest_configure(config: pytest.Config) -> None:
    """Start Postgres and Valkey unless the environment names them or only the engine is tested.

    pytest-django sets Django up after this hook, because the settings module is named here and not in pyproject.toml.
    What the controller names here its workers inherit.
    """
    os.environ.setdefault(SHUFFLE, str(random.randrange(2**32)))  # workers inherit it, and have to agree
    raised_in_thread = "error::pytest.PytestUnhandledThreadExceptionWarning"
    config.addinivalue_line("filterwarnings", raised_in_thread)  # it fails the test, instead of being said in passing
    needs_services = services.needs_services(config.args, config.invocation_params.dir)
    if config.option.help or is_controller(config):
        if needs_services and not config.option.help:
            _start_services(config, shared_only=True)
        return
    gc.disable()  # nothing that is imported and collected is garbage; on again when that is done
    messages.send_less(config)
    if not needs_services:
        return
    state = tempfile.TemporaryDirectory(prefix="gemweb-test-state-")
    config.add_cleanup(state.cleanup)
    for name, value in services.session_environment(state.name).items():
        os.environ.setdefault(name, value)
    _take_databases_of_its_own()
    _start_services(config, shared_only=False)
    from django.conf import settings  # not for engine tests

    assert settings.DATABASES  # read now, or pytest-django takes Django for unused
    settings.PASSWORD_HASHERS = ["tests.hashers.Quick"]


def _start_services(config: pytest.Config, *, shared_only: bool) -> None:
    started = services.start_services(os.environ, shared_only=shared_only)
    if started is not None:
        config.add_cleanup(started.stop)


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

SHUFFLE = "SHUFFLE"
"""The environment variable with the number that the order of the tests follows from; drawn if there is none."""


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A process reads no tests that it will not be handed."""
    folders = scheduling.folders_to_read(config)
    if folders is None or collection_path.parent != services.ROOT / "tests":
        return None
    return True if collection_path.is_dir() and collection_path.name not in folders else None


@pytest.hookimpl(hookwrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Each process begins reading at another place, and finds compiled what another one has read before.

    All of them read all tests. In a fresh clone nothing is compiled, which takes as long as everything else here; side
    by side they would compile each file at the same time.
    """
    outcome: Any = yield
    report = outcome.get_result()
    if isinstance(collector, pytest.Directory) and "PYTEST_XDIST_WORKER" in os.environ:
        number, count = int(os.environ["PYTEST_XDIST_WORKER"][2:]), int(os.environ["PYTEST_XDIST_WORKER_COUNT"])
        first = len(report.result) * number // count
        report.result = [*report.result[first:], *report.result[:first]]


@pytest.hookimpl(hookwrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Call every test with a browser a walk, and put them last; shuffle the others, files and tests of a file.

    A browser's event loop stays in its thread, where no other one can run then. Processes are handed whole files in
    this order, so a file with a browser has no other tests.
    """
    for item in items:
        if has_browser(item):
            item.add_marker("walk")  # before tests are chosen by their marks
    yield
    walks, others = [item for item in items if has_browser(item)], [item for item in items if not has_browser(item)]
    astray = [item for item in items if has_browser(item) != (scheduling.kind_of(item.nodeid) == "walks")]
    if astray:
        raise pytest.UsageError(
            f"Tests with a browser, and no others, have files of their own: see {astray[0].nodeid}."
        )
    items[:] = [*shuffled(others), *sorted(walks, key=lambda item: (scheduling.turn(item.path), item.path))]


def pytest_collection_finish() -> None:
    """Leave what was imported and collected out of later garbage collections, which took a twelfth of all time."""
    leave_out_what_is_loaded()
    gc.enable()


def has_browser(item: pytest.Item) -> bool:
    """Whether this test drives a browser."""
    return "browser" in getattr(item, "fixturenames", ())


def shuffled(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests file by file in another order each time, those first that take long; fixtures are still shared."""
    draw = random.Random(os.environ[SHUFFLE])
    files: dict[Path, list[pytest.Item]] = {}
    for item in sorted(items, key=lambda item: item.nodeid):  # whatever order they were found in
        files.setdefault(item.path, []).append(item)
    order = list(files)
    draw.shuffle(order)
    for tests in files.values():
        draw.shuffle(tests)
    found = [item for path in sorted(order, key=scheduling.turn) for item in files[path]]
    again: list[pytest.Item] = reorder_items(found)  # tests that share a costly parameter stay together
    return again


def pytest_report_header() -> str:
    """How to have the same order again."""
    return f"the order is shuffled by {SHUFFLE}={os.environ[SHUFFLE]}"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> scheduling.Scheduling:
    """Decide which process gets which tests."""
    return scheduling.Scheduling(config, log)


# ------------------------------------------------------------------ 3. fixtures


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None, django_db_blocker: DjangoDbBlocker) -> None:
    """The test database begins as a copy of one that is migrated already."""
    from django.db import connection

    from tests import databases

    with django_db_blocker.unblock():
        connection.settings_dict["TEST"]["TEMPLATE"] = databases.migrated()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The test database. Tests that commit empty it at their end, but for what migrations wrote."""
    from django.db import connection
    from django.test import TransactionTestCase

    from tests.emptying import Emptied

    with django_db_blocker.unblock():
        emptied = Emptied(connection)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: emptied.empty())
        yield


@pytest.fixture
def long_leases(settings: Any) -> None:
    """Leases of this process last longer than a busy machine takes between two statements of a test.

    The two seconds of `tests.services` are for tests that wait until another process takes over.
    """
    settings.LEASE_SECONDS = 120.0


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict[str, Any]) -> dict[str, Any]:
    """Launch the system's Chromium where there is one."""
    path = find_browser()
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)
    return {**browser_type_launch_args, "executable_path": path, "args": FLAGS}
