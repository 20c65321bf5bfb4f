"""Private states of the global random generators for environments that draw from them.

Environments written for GEM draw from the module `random` or from `numpy.random`, which GEM's `Env.reset` seeds.
Several such environments in one process would change each other's draws. So `gem.make` keeps the states of the global
generators for each environment, installs them while it acts, and restores those of the process afterwards. With the
same seed, an environment draws the same numbers as in GEM.
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

from gem.errors import MissingDependency
from gem.rng import pack_generator, unpack_generator
from gem.validation.values import check_seed

_lock = threading.RLock()
"""A lock that is held while the states of an environment are installed."""


@contextmanager
def nothing_installed() -> Iterator[None]:
    """Wait until no environment has its states installed, and let none install them during the block.

    For the constructor of an environment: what it draws comes from the generators of the process, as in GEM, and never
    from the states of an environment that acts in another thread.
    """
    with _lock:
        yield


def set_seed(seed: int | None = None) -> None:
    """Seed Python's global generator, and NumPy's if NumPy is imported. In GEM it is `gem.utils.seeding.set_seed`.

    Args:
        seed: an integer from 0; None for a random one.
    """
    for generator in _loaded_generators().values():
        generator.seed(seed)


def np_random(seed: int | None = None) -> tuple[Any, int]:
    """A generator of NumPy's and the seed that it has. In GEM it is `gem.utils.seeding.np_random`.

    Raises:
        InvalidArgument: if the seed is not an integer from 0.
        MissingDependency: if NumPy is not installed.
    """
    if seed is not None:
        check_seed(seed)
    try:
        import numpy as np  # noqa: PLC0415 (not every engine has it)
    except ImportError as error:
        raise MissingDependency("np_random", ["numpy"]) from error
    sequence = np.random.SeedSequence(seed)
    return np.random.Generator(np.random.PCG64(sequence)), int(sequence.entropy)  # type: ignore[arg-type]


class GlobalRngState:
    """The states of the global generators that belong to one environment.

    Args:
        env_class: the class of the environment, whose module shows which generators it may draw from.
    """

    def __init__(self, env_class: type) -> None:
        self.used_names = {
            name
            for name, generator in GLOBAL_GENERATORS.items()
            if any(map(generator.is_named_by, _user_modules(env_class)))
        }
        """The generators that the environment is known to draw from: its module imports them, or a draw was noticed."""
        self._states: dict[str, Any] = {}

    @contextmanager
    def installed(self, seed: int | None = None) -> Iterator[None]:
        """Install the states of the environment during the block.

        With a seed, all generators are seeded with it first. Without one, only those are replaced that the environment
        is known to draw from.
        """
        generators = {
            name: generator
            for name, generator in _loaded_generators().items()
            if seed is not None or name in self.used_names
        }
        if not generators:
            yield
            return
        with _lock:
            saved_states = {name: generator.get() for name, generator in generators.items()}
            for name, generator in generators.items():
                if seed is not None:
                    generator.seed(seed)
                elif name in self._states:
                    generator.set(self._states[name])
            states_before = {
                name: generator.get() for name, generator in generators.items() if name not in self.used_names
            }
            try:
                yield
            finally:
                self._states |= {name: generator.get() for name, generator in generators.items()}
                self.used_names |= {name for name, state in states_before.items() if self._states[name] != state}
                for name, generator in generators.items():
                    generator.set(saved_states[name])

    @contextmanager
    def installed_temporarily(self, seed: int) -> Iterator[None]:
        """Install the states like `installed`, and discard the changes after the block."""
        states = dict(self._states)
        try:
            with self.installed(seed):
                yield
        finally:
            self._states = states

    def pack(self) -> dict[str, Any]:
        """Return the states of the generators that the environment draws from, as plain JSON."""
        return {
            name: GLOBAL_GENERATORS[name].pack(state) for name, state in self._states.items() if name in self.used_names
        }

    def unpack(self, packed: Mapping[str, Any]) -> None:
        """Restore states that `pack` returned."""
        self._states = {name: GLOBAL_GENERATORS[name].unpack(state) for name, state in packed.items()}
        self.used_names |= packed.keys()


class GlobalGenerator(NamedTuple):
    """The functions of a generator that the whole process shares."""

    seed: Callable[[int | None], object]
    get: Callable[[], Any]
    set: Callable[[Any], object]
    pack: Callable[[Any], Any]
    unpack: Callable[[Any], Any]
    is_named_by: Callable[[ModuleType], bool]
    """Whether a module has the generator, or one of its functions, among its global names."""


def _loaded_generators() -> dict[str, GlobalGenerator]:
    """Return the global generators whose modules are imported."""
    return {name: generator for name, generator in GLOBAL_GENERATORS.items() if name in sys.modules}


def _user_modules(env_class: type) -> list[ModuleType]:
    """Return the modules of a class and of its base classes, except those of the engine and of `abc`."""
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


GLOBAL_GENERATORS: Mapping[str, GlobalGenerator] = {
    "random": GlobalGenerator(
        random.seed, random.getstate, random.setstate, _pack_random, _unpack_random, _names_random
    ),
    "numpy": GlobalGenerator(
        lambda seed: sys.modules["numpy"].random.seed(None if seed is None else seed % 2**32),
        _numpy_get,
        _numpy_set,
        lambda state: [base64.b85encode(state[0]).decode(), *state[1:]],
        lambda packed: (base64.b85decode(packed[0]), *packed[1:]),
        _names_numpy,
    ),
}
"""The generators that GEM seeds, by the name of their module."""
