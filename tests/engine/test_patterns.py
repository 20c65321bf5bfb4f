"""The regular expressions of the house mean the same with every Python that it runs on."""

import re

from tests.services import ROOT

FOLDERS = ("gem", "apps", "workers", "gemweb")
POSSESSIVE_GROUP = re.compile(r"\)(?:[?*+]|\{\d*,?\d*\})\+")


def test_no_group_is_repeated_possessively() -> None:
    """Python 3.11.2, which Debian 12 has, goes back into such a group: `(?:ab?)?+` is written `(?>(?:ab?)?)`."""
    files = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*.py")]
    assert len(files) > 500
    assert [file for file in files if POSSESSIVE_GROUP.search(file.read_text())] == []
