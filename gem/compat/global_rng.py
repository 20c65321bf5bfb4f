"""The generators of the whole process, lent to one environment at a time.

Environments written for GEM draw from the module `random` or from `numpy.random`, which GEM's `Env.reset` seeds. Two of
them in one process would disturb each other. So `gem.make` gives each of them generators of its own, which stand in the
place of the process's while it acts; afterwards those are as they were. With the same seed such an environment draws
what it draws in GEM.
"""

from __future__ import annotations

import base64
import random
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple

from gem.rng import pack_generator, unpack_generator

_lending = threading.RLock()
"""Held while an environment has the generators: another one in another thread waits for its turn."""


def set_seed(seed: int | None = None) -> None:
    """Seed Python's global generator, and NumPy's where it is loaded. GEM has it as `gem.utils.seeding.set_seed`.

    Args:
        seed: any integer from 0; None draws one.
    """
    for shared in _loaded().values():
        shared.seed(seed)


class Chance:
    """The global generators as one environment knows them.

    Args:
        env_class: its class, whose module says which of them it may draw from.
    """

    def __init__(self, env_class: type) -> None:
        self.used = {name for name, shared in SHARED.items() if any(map(shared.is_named_by, _modules(env_class)))}
        """Those that the environment draws from, as far as is known: its module imports them, or it was seen."""
        self._own: dict[str, Any] = {}

    @contextmanager
    def lent(self, seed: int | None = None) -> Iterator[None]:
        """The generators are the environment's inside this block, seeded anew if a seed is given.

        Without one only those are lent that it is known to draw from.
        """
        lent = {name: shared for name, shared in _loaded().items() if seed is not None or name in self.used}
        if not lent:
            yield
            return
        with _lending:
            outside = {name: shared.get() for name, shared in lent.items()}
            for name, shared in lent.items():
                if seed is not None:
                    shared.seed(seed)
                elif name in self._own:
                    shared.set(self._own[name])
            before = {name: shared.get() for name, shared in lent.items() if name not in self.used}
            try:
                yield
            finally:
                self._own |= {name: shared.get() for name, shared in lent.items()}
                self.used |= {name for name, state in before.items() if self._own[name] != state}
                for name, shared in lent.items():
                    shared.set(outside[name])

    @contextmanager
    def aside(self, seed: int) -> Iterator[None]:
        """As `lent`, and afterwards the environment's generators are as they were."""
        own = dict(self._own)
        try:
            with self.lent(seed):
                yield
        finally:
            self._own = own

    def pack(self) -> dict[str, Any]:
        """What those would draw next that the environment draws from, as plain JSON."""
        return {name: SHARED[name].pack(state) for name, state in self._own.items() if name in self.used}

    def unpack(self, packed: Mapping[str, Any]) -> None:
        """Take back what `pack` returned."""
        self._own = {name: SHARED[name].unpack(state) for name, state in packed.items()}
        self.used |= packed.keys()


class Shared(NamedTuple):
    """A generator that the whole process shares."""

    seed: Callable[[int | None], object]
    get: Callable[[], Any]
    set: Callable[[Any], object]
    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]
    is_named_by: Callable[[ModuleType], bool]
    """Whether a module has it, or its functions, among its names."""


def _loaded() -> dict[str, Shared]:
    """The shared generators of this process; nothing is imported for it."""
    return {name: shared for name, shared in SHARED.items() if name in sys.modules}


def _modules(env_class: type) -> list[ModuleType]:
    """The modules of a class and of those it derives from, without ours and Python's."""
    names = {base.__module__ for base in env_class.__mro__}
    return [sys.modules[name] for name in names if name in sys.modules and name.partition(".")[0] not in ("gem", "abc")]


def _names_random(module: ModuleType) -> bool:
    functions = random.random.__self__  # type: ignore[attr-defined]  # the instance whose methods the functions are
    return any(value is random or getattr(value, "__self__", None) is functions for value in vars(module).values())


def _names_numpy(module: ModuleType) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and any(value is numpy or value is numpy.random for value in vars(module).values())


def _pack_random(state: Any) -> Any:
    rng = random.Random()
    rng.setstate(state)
    return [pack_generator(rng), state[2]]


def _unpack_random(packed: Any) -> Any:
    version, words, _ = unpack_generator(packed[0]).getstate()
    return version, words, packed[1]


def _numpy_get() -> Any:
    _, words, *rest = sys.modules["numpy"].random.get_state()
    return words.tobytes(), *rest


def _numpy_set(state: Any) -> None:
    numpy = sys.modules["numpy"]
    words, *rest = state
    numpy.random.set_state(("MT19937", numpy.frombuffer(words, numpy.uint32), *rest))


SHARED: Mapping[str, Shared] = {
    "random": Shared(random.seed, random.getstate, random.setstate, _pack_random, _unpack_random, _names_random),
    "numpy": Shared(
        lambda seed: sys.modules["numpy"].random.seed(None if seed is None else seed % 2**32),
        _numpy_get,
        _numpy_set,
        lambda state: [base64.b85encode(state[0]).decode(), *state[1:]],
        lambda packed: (base64.b85decode(packed[0]), *packed[1:]),
        _names_numpy,
    ),
}
"""Those that GEM seeds, by the module that has to be loaded for them to be there."""
