"""The extras of the package say what the locks hold."""

import re
import tomllib

import pytest

from tests.services import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS: dict[str, list[str]] = PROJECT["project"]["optional-dependencies"]


@pytest.mark.parametrize("extra", sorted(EXTRAS.keys() - {"training"}))
def test_an_extra_asks_for_what_the_web_application_asks_for(extra: str) -> None:
    assert set(EXTRAS[extra]) <= set(PROJECT["dependency-groups"]["web"])


def test_training_is_allowed_the_versions_it_is_tested_with() -> None:
    locks = "".join((ROOT / f"requirements{kind}.lock").read_text() for kind in ("", "-training"))
    locked = dict(re.findall(r"^([\w-]+)==([\d.]+)", locks, re.MULTILINE))
    for requirement in EXTRAS["training"]:
        name, least = requirement.split(">=")
        assert locked[name].startswith(f"{least}."), requirement


def test_the_readme_names_every_extra() -> None:
    named = re.search(r"pip install '\.\[([a-z,]+)\]'", (ROOT / "README.md").read_text())
    assert named is not None
    assert named[1].split(",") == list(EXTRAS)
