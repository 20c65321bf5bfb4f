"""The word lists are what they say, and are read only when they are asked for."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from gem.data import words

FOLDER = Path(words.__file__).parent


@pytest.mark.parametrize(("name", "hash_"), [("common.txt", words.COMMON_HASH), ("words.txt", words.WORDS_HASH)])
def test_a_list_has_the_content_that_environments_are_named_after(name: str, hash_: str) -> None:
    lines = (FOLDER / name).read_bytes()
    assert hashlib.sha256(lines).hexdigest().startswith(hash_)
    listed = lines.decode().split()
    assert listed == sorted(set(listed))
    assert all(word.isalpha() and word.islower() and word.isascii() for word in listed)
    assert f"{len(listed):,}" in (FOLDER / "README.md").read_text()


def test_words_come_by_length() -> None:
    for length in range(words.MIN_LENGTH, words.MAX_COMMON_LENGTH + 1):
        assert len(words.common(length)) > 20
        assert {len(word) for word in words.common(length)} == {length}
        assert set(words.common(length)) <= set(words.all_words(length, length))
    assert words.common(2) == ()


def test_the_licence_is_beside_the_lists() -> None:
    assert "provided that the above copyright notice appears in all copies" in (FOLDER / "LICENSE.txt").read_text()


def test_importing_reads_nothing() -> None:
    code = "import gem; from gem.data import words; assert words._read.cache_info().misses == 0"
    assert subprocess.run([sys.executable, "-c", code], check=True).returncode == 0
