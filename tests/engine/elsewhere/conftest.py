"""A package with the interface of GEM that is not the engine, and an interpreter that has it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from tests.engine.cli.conftest import run  # noqa: F401 (a fixture)

TOY = Path(__file__).with_name("toy_gem")


@pytest.fixture
def toy_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The interpreter, for which the toy package is `gem`."""
    shutil.copytree(TOY, tmp_path / "packages" / "gem", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"))
    monkeypatch.chdir(tmp_path)
    return sys.executable
