"""Importing the modules that register environments: the engine's own, and those of other installed packages.

Another package names its module in the entry point group `gem.environments`.
"""

from __future__ import annotations

import importlib
from _thread import RLock  # the same class as threading.RLock; importing threading takes time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

BUILT_IN = "gem.envs"
"""The package of the engine's own environments. It is imported by name, so that the registry does not depend on it."""
ENTRY_POINTS = "gem.environments"
"""The entry point group in which packages name the module that registers their environments."""

_is_built_in_loaded = False
_are_installed_loaded = False
_lock = RLock()
_is_loading = False
"""True while plugins are imported; a plugin may look up environments itself."""


def load_built_in() -> None:
    """Import the engine's own environments, which register themselves. Further calls have no effect."""
    global _is_built_in_loaded  # noqa: PLW0603 (the state of this module)
    if not _is_built_in_loaded:
        importlib.import_module(BUILT_IN)  # another thread waits here until they are imported
        _is_built_in_loaded = True


def load_installed() -> None:
    """Import the modules that installed packages name in the entry point group, once in a process.

    An error in one of them is logged, and the others are loaded all the same.
    """
    if not _are_installed_loaded:
        with _lock:  # other threads wait until all plugins are loaded
            _load_all()


def _load_all() -> None:
    global _are_installed_loaded, _is_loading  # noqa: PLW0603 (the state of this module)
    if _are_installed_loaded or _is_loading:
        return
    from importlib.metadata import entry_points  # noqa: PLC0415 (a third of the time that `import gem` takes)

    _is_loading = True
    try:
        for plugin in entry_points(group=ENTRY_POINTS):
            _load_plugin(plugin)
    finally:
        _is_loading = False
    _are_installed_loaded = True


def _load_plugin(plugin: EntryPoint) -> None:
    try:
        plugin.load()
    except Exception:  # a broken package must not take the environments of the others away
        import logging  # noqa: PLC0415 (a tenth of the time that `import gem` takes)

        logging.getLogger(__name__).exception(
            "The environments of the entry point %r (%s) cannot be registered; the others are there",
            plugin.name,
            plugin.value,
        )
