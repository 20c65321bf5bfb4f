"""Modules without contents for packages that cannot be imported without a GPU, so that what lies beside them can."""

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Iterator, Set
from contextlib import contextmanager
from types import ModuleType
from typing import Any


class Hollow(ModuleType):
    """A module in which every name is a class of its own."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = type(name, (), {"__module__": self.__name__})
        setattr(self, name, made)
        return made


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, names: Set[str]) -> None:
        self.names = names

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if any(name == absent or name.startswith(f"{absent}.") for absent in self.names):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = Hollow(spec.name)
        module.__path__ = []
        return module

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


@contextmanager
def hollow(names: Set[str], importers: Set[str]) -> Iterator[None]:
    """Let these packages be imported as hollow modules; afterwards forget them and the `importers` that did so."""
    finder = _Finder(names)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        forgotten = tuple(f"{name}." for name in names | importers)
        for name in [name for name in sys.modules if f"{name}.".startswith(forgotten)]:
            del sys.modules[name]
