"""Every block of docs/api.md, and what README says about it, runs against a real stack."""

from __future__ import annotations

import json
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gem.cli import main as gemweb
from tests.docs.blocks import Block, blocks
from tests.platform.api_access import environment
from tests.services import Stack

PAGE = "docs/api.md"


@pytest.fixture
def variables(stack: Stack, token: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The variables that the page has set, here and for programs; no credentials of whoever runs the tests."""
    found = environment(stack, token, tmp_path / "config")
    for name in ("GEMWEB_URL", "GEMWEB_TOKEN", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, found[name])
    monkeypatch.chdir(tmp_path)
    return found


def _of_page(language: str, page: str = PAGE) -> Iterator[Block]:
    return (block for block in blocks(language) if block.page == page)


def _shell(script: str, variables: dict[str, str]) -> str:
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], env=variables, check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_blocks_with_curl(variables: dict[str, str]) -> None:
    settings, *scripts = [block.text for block in _of_page("sh")]
    assert "export GEMWEB_TOKEN=" in settings  # which `variables` has done
    out = _shell("\n".join(scripts), variables)
    for words in ('"game:Sokoban-v0"', '"next":', "event: episode.turn", '"seat":0', "Did you mean game:Sokoban-v0"):
        assert words in out, words


def test_the_blocks_in_python(variables: dict[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, Any] = {}
    for block in _of_page("python"):
        exec(compile(block.text, block.name, "exec"), names)
    out = capsys.readouterr().out
    assert "ann" in out
    assert names["info"]["success"] is True
    assert names["turns"] >= 5
    assert names["event"].event == "job.ended"
    assert "There is no episode" in out
    names["client"].close()


def test_the_commands(variables: dict[str, str], capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    spec = {"agent": "random", "env_ids": ["game:GuessTheNumber-v0-easy"], "episodes_per_env": 3}
    (tmp_path / "spec.json").write_text(json.dumps(spec), "utf-8")
    first, *lines = [line for block in _of_page("") for line in block.text.splitlines()]
    assert first == "python -m gemweb.local.manage api_token ann"  # which the fixture `token` has run
    job = ""
    for line in lines:
        program, *words = shlex.split(line.replace("$JOB", job))
        assert program == "gemweb"
        code = gemweb(words)
        out, err = capsys.readouterr()
        assert code == 0, (line, err)
        assert out, line
        if words[0] == "submit" and "--follow" in words:
            job = err.partition("Submitted evaluation ")[2].partition(":")[0]
            assert len(job) == 12, err


def test_what_readme_says(variables: dict[str, str]) -> None:
    [block] = _of_page("sh", "README.md")
    out = _shell(block.text, variables)
    assert '"game:Sokoban-v0"' in out
    assert "all episodes are done" in out
    assert "Sokoban" in out.splitlines()[-1] or "warehouse" in out or "box" in out
