"""Packages that some tests need, asked for without importing them.

Each process of a run reads all tests, and one of them runs the tests of a file: the others need not import what these
tests use. `pytest.importorskip` imports it.
"""

import importlib
from importlib.util import find_spec

import pytest


def skip_without(*packages: str) -> None:
    """Skip the tests of the module that calls this where one of the packages is not installed."""
    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed", allow_module_level=True)


def framework(module: str, distribution: str) -> None:
    """Skip the tests of the module that calls this where a framework is absent, and fail where it cannot be imported.

    `pytest.importorskip` passes over both, which hides that the list of packages in `examples/README.md` is incomplete.
    """
    if find_spec(module) is None:
        reason = f"{distribution} is not installed; examples/README.md says how to check it"
        pytest.skip(reason, allow_module_level=True)
    importlib.import_module(module)
