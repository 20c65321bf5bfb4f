"""Draws that give the same values on every Python version.

Python promises that `random.Random(seed).random()` stays the same across versions and promises it for no other
method, so every draw in the engine goes through these helpers. `rng` is anything with a `random()` in [0, 1).
"""

import base64
import random
import struct
from collections.abc import MutableSequence, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Source(Protocol):
    """Where draws come from."""

    def random(self) -> float:
        """A float in [0, 1)."""
        ...


def randbelow(rng: Source, n: int) -> int:
    """An integer in [0, n), n up to 2**53."""
    return int(rng.random() * n)


def randint(rng: Source, low: int, high: int) -> int:
    """An integer in [low, high], both ends included."""
    return low + int(rng.random() * (high - low + 1))


def choice(rng: Source, items: Sequence[T]) -> T:
    """One of `items`, each as likely as the others."""
    return items[int(rng.random() * len(items))]


def shuffle(rng: Source, items: MutableSequence[T]) -> None:
    """Put `items` into a uniformly random order, in place."""
    for i in range(len(items) - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        items[i], items[j] = items[j], items[i]


def sample(rng: Source, items: Sequence[T], k: int) -> list[T]:
    """`k` distinct positions of `items`, in random order."""
    pool = list(items)
    for i in range(k):
        j = i + int(rng.random() * (len(pool) - i))
        pool[i], pool[j] = pool[j], pool[i]
    return pool[:k]


class SplitMix64:
    """A tiny counter-based source: the same `keys` give the same draws, and making one costs next to nothing.

    It answers "what would a random agent do here?" without touching the generator that decides the episode.
    The mixing function is SplitMix64 (Steele, Lea and Flood, 2014).
    """

    __slots__ = ("_state",)

    def __init__(self, *keys: int) -> None:
        self._state = 0
        for key in keys:
            self._state = self._mix((self._state + key) & _MASK)

    def random(self) -> float:
        """A float in [0, 1)."""
        self._state = (self._state + 0x9E3779B97F4A7C15) & _MASK
        return (self._mix(self._state) >> 11) / (1 << 53)

    @staticmethod
    def _mix(z: int) -> int:
        z = (z + 0x9E3779B97F4A7C15) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)


_MASK = (1 << 64) - 1
_WORDS = struct.Struct("<625I")  # the 624 words of the Mersenne Twister and its position


def pack_generator(rng: random.Random) -> str:
    """The state of `rng` as text that fits into JSON."""
    return base64.b85encode(_WORDS.pack(*rng.getstate()[1])).decode()


def unpack_generator(text: str) -> random.Random:
    """The generator that `pack_generator` wrote down."""
    rng = random.Random()
    rng.setstate((3, _WORDS.unpack(base64.b85decode(text)), None))
    return rng
