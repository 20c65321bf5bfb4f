"""What the tests of the stack share."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import psycopg
import pytest
from cryptography.fernet import Fernet

from gem.verification.keys import WELL_KNOWN
from gemweb.local.stack import migrations_digest
from gemweb.local.state import secret
from tests import scheduling
from tests.platform.api_access import make_token
from tests.services import ROOT, Stack, forget_state, running_stack

Start = Callable[..., Stack]


@dataclass(frozen=True)
class BroughtBack:
    """The shared stack, backed up while it runs and restored in another folder, which is as it was afterwards."""

    file: Path
    state: Path
    rows: set[tuple[object, ...]]
    """Some of the turns at the time of the backup."""
    endpoint_keys: str
    site_keys: bytes
    """What the site published of its signing keys."""
    weights: Path
    """A file in the folder of runs, relative to it."""


TURNS = """
SELECT episode_id, number, action FROM episodes_turn
"""


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """One whole running stack for all tests that look at one, with demo data; `stack.url` is its address."""
    with running_stack() as running:
        assert running.url
        running.cancel_jobs()
        SHARED.append(running)
        yield running


SHARED: list[Stack] = []
"""The stack of this session, if one was started."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse tests of the shared stack in files that are not known to look at one: it would end before they do."""
    looking = [item for item in items if {"stack", "prepared"} & set(getattr(item, "fixturenames", ()))]
    astray = [item.nodeid for item in looking if not scheduling.looks_at_stacks(item.path)]
    if astray:
        raise pytest.UsageError(f"{astray[0]} looks at a stack, so its file belongs into scheduling.STACKS.")


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """End the shared stack after the last test that uses it: its processes take a tenth of a core while they idle."""
    if SHARED and not scheduling.looks_at_stacks(nextitem.path if nextitem else None):
        SHARED[0].end()


@pytest.fixture(scope="session")
def brought_back(stack: Stack) -> Iterator[BroughtBack]:
    """See `BroughtBack`. The stack has a table, keys, weights and a half-written file of its own then."""
    folder = Path(tempfile.mkdtemp(prefix="gemweb-prepared-"))
    file, state, runs = folder / "a backup.tar", folder / "state", stack.state_dir / "runs"
    with urlopen(f"{stack.url.rstrip('/')}{WELL_KNOWN}", timeout=30) as answer:
        site_keys = answer.read()
    endpoint_keys = Fernet.generate_key().decode() + "\n"  # other tests add agents to the same site
    (stack.state_dir / "endpoint_keys").write_text(endpoint_keys)
    weights = Path("abc/checkpoints/000001/model.safetensors")
    (runs / weights).parent.mkdir(parents=True, exist_ok=True)
    (runs / weights).write_bytes(b"weights")
    (runs / "half.new").write_text("half written")
    with psycopg.connect(stack.database_url) as connection:
        rows = set(connection.execute(TURNS))
        connection.execute("CREATE TABLE kept AS SELECT 'still here' AS word")
    for verb, place in (("write", stack.state_dir), ("restore", state)):
        done = backup(verb, place, file)
        assert done.returncode == 0, done.stderr
    (state / "migrated").write_text(migrations_digest(secret(state / "postgres_password")))  # as it was saved
    yield BroughtBack(file, state, rows, endpoint_keys, site_keys, weights)
    forget_state(state)
    shutil.rmtree(folder)


def backup(verb: str, state: Path, file: Path | str) -> subprocess.CompletedProcess[str]:
    """Run the command behind `make backup` or `make restore`."""
    own = {"STATE_DIR": str(state), "DATABASE_URL": "", "RUNS_DIR": "", "ENDPOINT_KEYS_FILE": ""}
    command = [sys.executable, "-m", "gemweb.local.backup", verb, str(file)]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def prepared(brought_back: BroughtBack) -> Path:
    """A state folder whose database is ready, so that a stack in it starts quickly."""
    return brought_back.state


@pytest.fixture(scope="session")
def token(stack: Stack) -> str:
    """An API token of the shared stack with all scopes, made as docs/api.md says."""
    secret = make_token(stack, "ann")
    assert secret.startswith("gw_")
    return secret


@pytest.fixture
def start(prepared: Path) -> Iterator[Start]:
    """Start stacks of one's own, in the prepared folder unless another is named; all end with the test."""
    with ExitStack() as stacks:

        def begin(**env: str) -> Stack:
            return stacks.enter_context(running_stack({"STATE_DIR": str(prepared), **env}))

        yield begin
