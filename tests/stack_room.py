"""Room on the stack of Python's frames, so that no call costs a system call.

CPython keeps the frames of a thread in chunks of 16 KB. A call that does not fit into the last chunk maps another one,
which is unmapped as soon as the call returns. So a loop that runs at the end of a chunk maps and unmaps memory for each
of its calls, and each call takes fifty times as long. Below pytest and Django a request is two hundred calls deep and
crosses a dozen such ends; where they lie in inner loops, that takes up to a third of the processor time of a test.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
FRAME_WORDS = 2**16
"""The size of a frame that takes a little more than half of a chunk of 1 MB, of which the frames below get the rest."""


def with_room(call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call with half a megabyte in one chunk for the frames below. The memory is only used as far as frames reach."""
    return call(*args, **kwargs)


with_room.__code__ = with_room.__code__.replace(co_stacksize=FRAME_WORDS)
