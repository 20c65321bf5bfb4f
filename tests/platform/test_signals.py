"""A signal is never lost, whenever it comes."""

import signal
from collections.abc import Iterator

import pytest

from gemweb.local.config import StackConfig
from gemweb.local.stack import Stack, Stopped
from gemweb.local.supervisor import Console


@pytest.fixture
def handlers() -> Iterator[None]:
    """Put the test run's own handlers back."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    own = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, own, strict=True):
        signal.signal(number, handler)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_that_came_during_a_deletion_is_noticed_at_the_next_pause(handlers: None) -> None:
    stack = Stack(StackConfig.from_env({"PORT": "0"}), Console())

    class Interrupted:
        def __del__(self) -> None:
            stack._stop_now(signal.SIGINT, None)

    one = Interrupted()
    del one  # Python ignores what a deletion raises
    with pytest.raises(Stopped):
        stack._pause(0)
