"""`gemweb sandbox` names the level and what was tried."""

import pytest

from gem.sandbox import levels
from tests.engine.cli.conftest import Run


def test_it_names_the_level_and_what_each_way_said(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    probes = (levels.Probe("full", False, "unshare: Operation not permitted"), levels.Probe("landlock", True, "held"))
    monkeypatch.setattr(levels, "_choice", levels.LevelChoice("landlock", probes, "At the level landlock."))
    code, out, err = run("sandbox")
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "At the level landlock."
    assert [line.split() for line in out.splitlines()[3:5]] == [
        ["full", "no", "unshare:", "Operation", "not", "permitted"],
        ["landlock", "works", "held"],
    ]


def test_a_machine_that_confines_nothing_is_an_exit_code(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "_choice", levels.LevelChoice("disabled", (), "It is not run, because."))
    assert run("sandbox")[:2] == (1, "It is not run, because.\n")
