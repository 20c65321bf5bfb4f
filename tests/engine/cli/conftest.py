"""Running `gemweb` in this process, and environments that no package knows of."""

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from gem.cli import main
from gem.registry import ENV_REGISTRY

PAGE = Path(__file__).parents[3] / "docs" / "add-an-environment.md"


class Ran(NamedTuple):
    """What a command came to."""

    code: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """`run("envs", "Sokoban")` runs `gemweb envs Sokoban`."""

    def run_here(*arguments: object) -> Ran:
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        return Ran(code, *capsys.readouterr())

    return run_here


@pytest.fixture
def coin_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., str]]:
    """`coin_row(old, new)` writes the tutorial's environment, changed so, into the current folder; its module."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(ENV_REGISTRY)
    source = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0]

    def write(*changes: tuple[str, str]) -> str:
        text = source
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        (tmp_path / "coin_row_outside.py").write_text(text, "utf-8")
        return "coin_row_outside"

    yield write
    sys.modules.pop("coin_row_outside", None)
    for env_id in set(ENV_REGISTRY) - before:
        del ENV_REGISTRY[env_id]
