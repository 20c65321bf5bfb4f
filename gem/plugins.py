"""The packages whose environments are registered by importing them: our own, and those of installed packages.

A package of somebody else names a module in the entry point group `gem.environments`.
"""

from __future__ import annotations

import importlib
from _thread import RLock  # that of threading, without the time it takes to import
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BUILT_IN = "gem.envs"
"""Our own environments. Like those of others they are loaded by name: they know the registry, it does not know them."""
ENTRY_POINTS = "gem.environments"
"""The entry point group in which packages name the module that registers their environments."""

_installed_are_loaded = False
_lock = RLock()
_loading: list[bool] = []
"""Not empty while plugins are imported; they may ask for environments themselves."""


def load_built_in() -> None:
    """Import our own environments, which register themselves; the next time, or while it happens, nothing happens."""
    importlib.import_module(BUILT_IN)


def load_installed() -> None:
    """Import the modules that installed packages name in the entry point group, once.

    One that cannot be imported is named in the log, and the others are loaded all the same.
    """
    if not _installed_are_loaded:
        with _lock:  # another thread waits until all are there
            _load_all()


def _load_all() -> None:
    global _installed_are_loaded  # noqa: PLW0603 (a once-only switch)
    if _installed_are_loaded or _loading:
        return
    from importlib.metadata import entry_points  # noqa: PLC0415 (a third of the time that `import gem` takes)

    _loading.append(True)
    try:
        for plugin in entry_points(group=ENTRY_POINTS):
            _load_plugin(plugin)
    finally:
        _loading.clear()
    _installed_are_loaded = True


def _load_plugin(plugin: EntryPoint) -> None:
    try:
        plugin.load()
    except Exception:  # whatever one package does wrong, the environments of all others are there
        import logging  # noqa: PLC0415 (a tenth of the time that `import gem` takes)

        logging.getLogger(__name__).exception(
            "The environments of the entry point %r (%s) cannot be registered; the others are there",
            plugin.name,
            plugin.value,
        )
