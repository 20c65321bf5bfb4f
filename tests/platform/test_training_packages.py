"""What training needs is installed beside everything else, and without CUDA where it is of no use."""

import re
import sys
from pathlib import Path

import pytest

from gemweb.local import training
from gemweb.local.config import ROOT


def _versions(lock: str) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", (ROOT / lock).read_text(), re.MULTILINE):
        found.setdefault(name.lower().replace("_", "-"), set()).add(version)
    return found


def test_it_pins_torch_and_nothing_that_the_other_lock_file_has() -> None:
    pinned = training.pinned()
    assert pinned["torch"] == "2.13.0"
    assert {"transformers", "tokenizers", "safetensors", "peft"} <= pinned.keys()
    assert not pinned.keys() & _versions("requirements.lock").keys()


def test_it_agrees_with_the_packages_of_tests() -> None:
    tests = _versions("requirements-dev.lock")
    for name, version in training.pinned().items():
        assert version in tests.get(name, {version}), name


@pytest.mark.skipif(sys.platform != "linux", reason="there are two builds on Linux only")
@pytest.mark.parametrize("offered", [True, False])
def test_without_a_driver_it_asks_for_the_build_for_cpus(
    offered: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pip = tmp_path / "pip"
    pip.write_text(f"#!/bin/sh\nexit {0 if offered else 1}\n")
    pip.chmod(0o755)
    monkeypatch.setattr(training, "DRIVER", tmp_path / "none")
    monkeypatch.setenv("PATH", str(tmp_path))
    asked = list(training._torch([str(pip)], "2.13.0"))
    assert asked[:2] == ["--no-deps", "torch==2.13.0+cpu"]
    assert (training.CPU_INDEX in asked) is not offered


@pytest.mark.skipif(sys.platform != "linux", reason="there are two builds on Linux only")
def test_with_a_driver_it_takes_the_build_for_cuda_with_its_libraries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "version").touch()
    monkeypatch.setattr(training, "DRIVER", tmp_path / "version")
    assert list(training._torch(["pip"], "2.13.0")) == ["torch==2.13.0"]


def test_it_says_how_it_stands_where_the_form_looks(tmp_path: Path) -> None:
    training.tell("failed", "no network", {"STATE_DIR": str(tmp_path)})
    assert (tmp_path / "training.json").read_text() == '{"state": "failed", "reason": "no network"}'
    training.tell("installed", env={})  # without a stack there is nobody to tell
