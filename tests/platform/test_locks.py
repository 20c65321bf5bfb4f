"""The lock files fit every machine: they have the hashes of all files of a package, not of one machine's alone."""

import re

import pytest

from tests.services import ROOT

HASHED = ("", "-dev", "-audit", "-docs", "-uv")
ONE_FILE = {"cellpylib", "pycosat", "zss"}
"""Packages that are published as one source distribution and nothing else."""


@pytest.mark.parametrize("kind", HASHED)
def test_no_package_is_locked_to_the_file_of_one_machine(kind: str) -> None:
    lock = (ROOT / f"requirements{kind}.lock").read_text()
    hashes = {
        re.split(r"[=\[]", entry)[0]: entry.count("--hash=sha256:")
        for entry in re.split(r"\n(?=\w)", lock)
        if not entry.startswith("#")
    }
    assert min(hashes.values()) > 0
    assert {name for name, count in hashes.items() if count == 1} <= ONE_FILE
