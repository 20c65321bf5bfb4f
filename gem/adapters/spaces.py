"""The space of all strings, which describes observations and actions for Gymnasium and PettingZoo.

Gymnasium's `AsyncVectorEnv` reads observations from memory that it shares with its worker processes. For this space,
`SharedTexts` is that memory: a place of `SLOT_BYTES` for each environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

from gymnasium import spaces
from gymnasium.vector.utils import shared_memory

from gem.errors import InvalidArgument

SAMPLE_LENGTH = 80
"""The maximum length of a string that a space samples."""
SLOT_BYTES = 256 * 1024
"""The maximum length of a string in shared memory, in bytes of UTF-8. Pages that are not written take no memory."""
LENGTH_BYTES = 4


class AnyText(spaces.Text):
    """The space of all strings; a sample is a short one of printable characters, or what `sampler` returns."""

    def __init__(self, seed: int | None = None, sampler: Callable[[], str] | None = None) -> None:
        super().__init__(SAMPLE_LENGTH, min_length=0, seed=seed)
        self._sampler = sampler

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Draw a string."""
        return str(super().sample()) if self._sampler is None else self._sampler()

    def contains(self, x: Any) -> bool:
        """Whether `x` is a string."""
        return isinstance(x, str)


class SharedTexts(Sequence[str]):
    """The strings of a vector's environments, read from shared memory at each access; a copy is a tuple of strings."""

    def __init__(self, memory: Any, count: int) -> None:
        self._memory, self._count = memory, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...
    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self)[index]
        start = range(self._count)[index] * (LENGTH_BYTES + SLOT_BYTES)
        view = memoryview(self._memory.get_obj()).cast("B")
        text_start = start + LENGTH_BYTES
        length = int.from_bytes(view[start:text_start], "little")
        return bytes(view[text_start : text_start + length]).decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        return (self[index] for index in range(self._count))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> tuple[str, ...]:
        return tuple(self)


@shared_memory.create_shared_memory.register(AnyText)
def _create(space: AnyText, n: int = 1, ctx: Any = None) -> Any:  # noqa: ARG001 (Gymnasium's interface)
    return ctx.Array("c", n * (LENGTH_BYTES + SLOT_BYTES))


@shared_memory.read_from_shared_memory.register(AnyText)
def _read(space: AnyText, memory: Any, n: int = 1) -> SharedTexts:  # noqa: ARG001
    return SharedTexts(memory, n)


@shared_memory.write_to_shared_memory.register(AnyText)
def _write(space: AnyText, index: int, value: str, memory: Any) -> None:  # noqa: ARG001
    text = value.encode("utf-8", "surrogatepass")
    if len(text) > SLOT_BYTES:
        raise InvalidArgument(
            f"An observation of {len(text):,} bytes does not fit into shared memory, which has {SLOT_BYTES:,} for each "
            "environment: make the vector with vector_kwargs={'shared_memory': False}."
        )
    start = index * (LENGTH_BYTES + SLOT_BYTES)
    view = memoryview(memory.get_obj()).cast("B")
    view[start : start + LENGTH_BYTES] = len(text).to_bytes(LENGTH_BYTES, "little")
    view[start + LENGTH_BYTES : start + LENGTH_BYTES + len(text)] = text
