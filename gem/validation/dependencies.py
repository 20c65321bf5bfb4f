"""Modules of other people: those that are named on a command line, and those that parts of the engine need."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence

from gem.errors import MissingDependency, UsageError

TRAINING = {name: name for name in ("torch", "transformers", "tokenizers", "safetensors")}
"""What trainings and trained policies need, and how one writes it to pip."""
PICTURES = {"matplotlib": "matplotlib"}
"""The same of pictures of curves."""
ENDPOINTS = {"httpcore": "httpcore[asyncio]", "anyio": "httpcore[asyncio]"}
"""The same of agents behind a server."""

MODULE_HINT = " One of your own is known once the module that registers it is named: --module NAME."
"""What command lines add where an environment is unknown."""


def require_installed(what: str, packages: Mapping[str, str]) -> None:
    """Refuse what cannot work without packages that are not there.

    Raises:
        MissingDependency: with all of them at once.
    """
    missing = [name for module, name in packages.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise MissingDependency(what, list(dict.fromkeys(missing)))


def import_modules(names: Sequence[str]) -> None:
    """Import modules that register environments, wrappers or tools of one's own, as seen from the current folder.

    Raises:
        UsageError: if one cannot be imported.
    """
    if names and not {"", os.getcwd()} & set(sys.path):
        sys.path.insert(0, os.getcwd())
    for name in names:
        try:
            importlib.import_module(name)
        except UsageError:
            raise
        except Exception as error:  # whatever the user's module raises is for its author to read
            hint = " Give its name without .py." if name.endswith(".py") else ""
            raise UsageError(f"{name} cannot be imported: {type(error).__name__}: {error}.{hint}") from error
