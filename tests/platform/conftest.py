"""What the tests of the stack share."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from tests.platform.api_access import make_token
from tests.services import Stack, forget_state, running_stack

Start = Callable[..., Stack]


@pytest.fixture(scope="session")
def prepared() -> Iterator[Path]:
    """A state folder whose database is ready, so that a stack in it starts quickly."""
    folder = Path(tempfile.mkdtemp(prefix="gemweb-prepared-"))
    with running_stack({"STATE_DIR": str(folder)}) as stack:
        stack.cancel_jobs()
        with psycopg.connect(stack.database_url) as connection:
            connection.execute("create table kept as select 'still here' as word")
    yield folder
    forget_state(folder)


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
