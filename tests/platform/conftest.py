"""What the tests of the stack share."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.services import Stack, running_stack

Start = Callable[..., Stack]


@pytest.fixture
def start() -> Iterator[Start]:
    """Start stacks of one's own, each in a folder of its own; all are gone after the test."""
    with ExitStack() as stacks:

        def begin(**env: str) -> Stack:
            return stacks.enter_context(running_stack(env))

        yield begin
