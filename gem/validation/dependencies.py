"""Optional packages that parts of the engine need, and modules of users that are named on a command line."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence

from gem.errors import MissingDependency, UsageError

TRAINING_PACKAGES = {name: name for name in ("torch", "transformers", "tokenizers", "safetensors")}
"""Packages that trainings and trained policies need: the name of the module to the name for pip."""
FIGURE_PACKAGES = {"matplotlib": "matplotlib"}
"""Packages that figures need, in the same form."""
ENDPOINT_PACKAGES = {"aiohttp": "aiohttp", "certifi": "certifi"}
"""Packages that endpoint agents need, in the same form."""
CLIENT_PACKAGES = {"httpx2": "httpx2"}
"""Packages that the client of the REST API needs, in the same form."""
REMOTE_PACKAGES = {"websockets": "websockets"}
"""Packages that connecting a remote agent needs, in the same form."""
VERIFICATION_PACKAGES = {"cryptography": "cryptography"}
"""Packages that signatures need, in the same form."""

MODULE_HINT = " One of your own is known once the module that registers it is named: --module NAME."
"""The sentence that the command line adds to the message about an unknown environment."""


def require_installed(label: str, packages: Mapping[str, str]) -> None:
    """Check that packages are installed.

    Args:
        label: what needs them, for the message.
        packages: the name of each module to the name of its package for pip.

    Raises:
        MissingDependency: if some are missing; it names all of them.
    """
    missing = [name for module, name in packages.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise MissingDependency(label, list(dict.fromkeys(missing)))


def import_modules(names: Sequence[str]) -> None:
    """Import modules of a user that register environments, wrappers or tools; the current folder is searched too.

    Raises:
        UsageError: if one of them cannot be imported.
    """
    if names and not {"", os.getcwd()} & set(sys.path):
        sys.path.insert(0, os.getcwd())
    for name in names:
        stem = re.split(r"[/\\]", name.removesuffix(".py"))[-1]
        if stem != name:
            raise UsageError(f"{name} is a path. Give the name of the module, {stem}, in the folder where it is.")
        try:
            importlib.import_module(name)
        except UsageError:
            raise
        except Exception as error:  # the author of the module reads whatever it raised
            raise UsageError(f"{name} cannot be imported: {type(error).__name__}: {error}.") from error
