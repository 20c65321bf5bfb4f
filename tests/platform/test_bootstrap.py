"""Building .venv on whatever Python there is."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.services import ROOT

LOCK = """\
six==1.17.0 \\
    --hash=sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274 \\
    --hash=sha256:ff70335d468e7eb6ec65b95b99d3a2836546063f63acc5171de367e834932a81
"""
SOURCE_LOCK = """\
pycosat==0.6.6 \\
    --hash=sha256:a376cfae20b16fcfbef24bf3c047a8a294c35032bb051fa98842c12bbab6f0ff
"""
"""A package that is published as source code alone, with extensions in C."""
BASE = Path(sys.base_prefix) / "bin" / "python3"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The least that the set-up needs, with one small package to install."""
    (tmp_path / "gemweb").mkdir()
    shutil.copy(ROOT / "gemweb" / "bootstrap.py", tmp_path / "gemweb")
    shutil.copy(ROOT / "requirements-uv.lock", tmp_path)
    (tmp_path / "requirements.lock").write_text(LOCK)
    (tmp_path / "requirements-dev.lock").write_text(LOCK)
    return tmp_path


def set_up(
    checkout: Path, *missing: str, wanted: str = "run", module: str = "six", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the set-up on a Python that lacks the modules `missing`, with environment variables."""
    for name in missing:
        (checkout / "lacks" / name).mkdir(parents=True, exist_ok=True)
        (checkout / "lacks" / name / "__init__.py").write_text("raise ImportError")
    return subprocess.run(
        [str(BASE), "gemweb/bootstrap.py", wanted, module],
        cwd=checkout,
        env={**os.environ, "PYTHONPATH": str(checkout / "lacks"), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_it_installs_once_and_again_when_the_lock_changes_and_makes_the_command(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (checkout / "gem" / "cli").mkdir(parents=True)
    (checkout / "gem" / "cli" / "__main__.py").write_text("import sys; print('asked for', *sys.argv[1:])")
    packages = tmp_path_factory.mktemp("of another checkout") / "packages"
    packages.write_text("kept")
    (checkout / ".venv").symlink_to(packages.parent)
    first = set_up(checkout)
    assert first.returncode == 0, first.stderr
    assert packages.read_text() == "kept"
    assert "installing packages" in first.stdout
    assert set_up(checkout).stdout == ""

    (checkout / "requirements.lock").write_text(LOCK + "\n# changed\n")
    assert "installing packages" in set_up(checkout).stdout

    command = [checkout / ".venv" / "bin" / "gemweb", "envs", "two words"]  # offers the engine from anywhere
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    asked = subprocess.run(command, cwd=elsewhere, capture_output=True, text=True, check=True)
    assert asked.stdout == "asked for envs two words\n"


@pytest.mark.long
def test_a_package_with_another_hash_is_refused(checkout: Path) -> None:
    (checkout / "requirements.lock").write_text(LOCK.replace("4721f391", "00000000").replace("ff70335d", "00000000"))
    done = set_up(checkout)
    assert done.returncode == 1
    assert done.stderr.startswith("gemweb: The packages could not be installed")
    assert "Traceback" not in done.stderr


@pytest.mark.long
def test_a_machine_without_a_compiler_is_told_what_to_do(checkout: Path) -> None:
    (checkout / "requirements.lock").write_text(SOURCE_LOCK)
    done = set_up(checkout, CC="no-cc", UV_CACHE_DIR=str(checkout / "cache"), PIP_NO_CACHE_DIR="1")
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("gemweb: pycosat could not be compiled, which takes a C compiler and the headers of Python")
    assert "apt-get install gcc python3-dev" in line
    assert "no-cc" in line


@pytest.mark.long
def test_debian_without_ensurepip_is_enough(checkout: Path) -> None:
    done = set_up(checkout, "ensurepip")
    assert done.returncode == 0, done.stderr


def test_a_python_with_neither_pip_nor_ensurepip_is_told_what_to_do(checkout: Path) -> None:
    done = set_up(checkout, "ensurepip", "pip")
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "gemweb: This Python has neither pip nor ensurepip: install one "
        "(on Debian: apt-get install python3-venv) and run the same command again."
    ]


@pytest.mark.long
def test_a_moved_checkout_is_built_again(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert set_up(checkout).returncode == 0
    moved = tmp_path_factory.mktemp("moved") / "checkout"
    shutil.copytree(checkout, moved, symlinks=True)
    done = set_up(moved)
    assert done.returncode == 0, done.stderr
    assert "installing packages" in done.stdout
