"""Random draws that give the same values on every Python version.

Python guarantees the values of `random.Random(seed).random()` across versions, but those of no other method, so every
draw in the engine goes through these functions. `rng` is any object with a method `random()` that returns a float in
[0, 1).
"""

import base64
import random
import struct
from collections.abc import MutableSequence, Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class RandomSource(Protocol):
    """A generator of random numbers, such as `random.Random`."""

    def random(self) -> float:
        """Draw a float in [0, 1)."""
        ...


def randbelow(rng: RandomSource, n: int) -> int:
    """Draw an integer in [0, n), for n up to 2**53."""
    return int(rng.random() * n)


def randint(rng: RandomSource, low: int, high: int) -> int:
    """Draw an integer from `low` to `high`, both included."""
    return low + int(rng.random() * (high - low + 1))


def choice(rng: RandomSource, items: Sequence[T]) -> T:
    """Draw one of `items` with equal probability."""
    return items[int(rng.random() * len(items))]


def shuffle(rng: RandomSource, items: MutableSequence[T]) -> None:
    """Put `items` into a uniformly random order, in place."""
    for i in range(len(items) - 1, 0, -1):
        j = int(rng.random() * (i + 1))
        items[i], items[j] = items[j], items[i]


def sample(rng: RandomSource, items: Sequence[T], k: int) -> list[T]:
    """Draw `k` of `items` without replacement, in random order."""
    pool = list(items)
    for i in range(k):
        j = i + int(rng.random() * (len(pool) - i))
        pool[i], pool[j] = pool[j], pool[i]
    return pool[:k]


class SplitMix64:
    """A small counter-based generator: equal `keys` give equal draws, and making one costs next to nothing.

    Environments draw random actions from it, so that the generator of the episode stays as it is. The mixing function
    is SplitMix64 (Steele, Lea and Flood, 2014).
    """

    __slots__ = ("_state",)

    def __init__(self, *keys: int) -> None:
        self._state = 0
        for key in keys:
            self._state = self._mix((self._state + key) & _MASK)

    def random(self) -> float:
        """Draw a float in [0, 1)."""
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
    """Return the state of `rng` as a string that fits into JSON."""
    return base64.b64encode(_WORDS.pack(*rng.getstate()[1])).decode()


def unpack_generator(text: str) -> random.Random:
    """Return a generator with a state that `pack_generator` returned, now or when it wrote in base 85."""
    decode = base64.b85decode if len(text) == _WORDS.size * 5 // 4 else base64.b64decode
    rng = random.Random()
    rng.setstate((3, _WORDS.unpack(decode(text)), None))
    return rng
