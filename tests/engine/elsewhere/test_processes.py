"""`gemweb check` on packages of another interpreter: what it prints, what ends a process, and what is not there."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gem.check.elsewhere.processes import DriverExamination
from gem.check.elsewhere.targets import Target, read_target
from gem.check.promise import Finding
from gem.errors import InvalidArgument, UsageError
from tests.engine.cli.conftest import Run


@pytest.fixture
def examine(toy_python: str, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, list[Finding]]]:
    """Checks all environments of the toy package that are named; the findings that are not `ok`, by environment."""

    def found(*names: str, **limits: float) -> dict[str, list[Finding]]:
        monkeypatch.setenv("TOYS", ",".join(names))
        examination = DriverExamination(Target("gem", "all"), toy_python, **limits)
        by_name: dict[str, list[Finding]] = {name: [] for name in names}
        for finding in examination.findings():
            name = finding.env_id.removeprefix("toy:").removesuffix("-v0")
            if name in by_name and finding.status == "wrong":
                by_name[name].append(finding)
        assert examination.left_out == ["toy:Data-v0"]
        return by_name

    return found


def test_an_environment_that_ends_its_process_is_the_finding_and_the_others_are_checked(
    examine: Callable[..., dict[str, list[Finding]]],
) -> None:
    found = examine("EndsTheProcess", "LoopsForever", "Good", seconds=1)
    assert found["Good"] == []
    [ended] = found["EndsTheProcess"]
    assert (ended.key, ended.detail) == (
        "begins", "The process that tried it stopped unexpectedly, with exit code 11.",
    )  # fmt: skip
    [looped] = found["LoopsForever"]
    assert (looped.key, looped.detail) == (
        "plays_to_its_end", "It did not come back within 1 seconds of processor time.",
    )  # fmt: skip


def test_what_waits_for_ever_is_given_up(examine: Callable[..., dict[str, list[Finding]]]) -> None:
    [waited] = examine("WaitsForever", idle_seconds=3)["WaitsForever"]
    assert (waited.key, waited.detail) == ("begins", "It waits for something that did not come within 3 seconds.")


def test_it_prints_what_is_broken_and_imports_nothing_here(run: Run, toy_python: str) -> None:
    before = set(sys.modules)
    code, out, err = run("check", "gem:toy:OrderOfASet-v0", "--python", toy_python)
    assert (code, err) == (1, "")
    assert out.startswith("toy:OrderOfASet-v0 of gem of ")
    assert f"({toy_python})" in out.splitlines()[0]
    lines = out.splitlines()
    place = lines.index("WRONG     Other processes play the same episodes.")
    assert lines[place + 1].strip() == "Another process plays seed 0 differently, from turn 0 on."
    assert lines[place + 2].strip().startswith("What to do: Do not depend on the order of a set")
    assert lines[-1].endswith("1 of them is broken.")
    assert not [name for name in set(sys.modules) - before if "toys" in name]


def test_it_prints_json(run: Run, toy_python: str) -> None:
    code, out, _ = run("check", "gem:toy:CannotBeMade-v0", "--python", toy_python, "--json")
    data = json.loads(out)
    assert (code, data["kept"], data["broken"], data["left_out"]) == (1, 1, 1, 0)
    assert data["findings"][1]["key"] == "is_made"
    assert (data["id"], data["findings"][1]["env_id"]) == ("gem:toy:CannotBeMade-v0", "toy:CannotBeMade-v0")


def test_all_environments_of_a_package_are_printed_by_what_is_broken(
    run: Run, toy_python: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOYS", "Good,NoRandomActions")
    code, out, _ = run("check", "gem:all", "--python", toy_python)
    assert code == 1
    assert out.startswith("all of gem of ")
    assert "\ntoy:Good-v0\n\ntoy:NoRandomActions-v0\nWRONG     It has random actions.\n" in out
    assert "Not checked: toy:Data-v0." in out
    assert "3 subjects, " in out
    assert out.rstrip().endswith("1 of them is broken. 1 subject is concerned.")


def test_of_a_package_some_promises_of_some_environments_can_be_tried(toy_python: str) -> None:
    only = {"toy:NoRandomActions-v0": ["has_random_actions"]}
    found = DriverExamination(Target("gem", "all"), toy_python, only=only).findings()
    assert [(finding.env_id, finding.key, finding.status) for finding in found] == [
        ("toy:NoRandomActions-v0", "is_made", "ok"),
        ("toy:NoRandomActions-v0", "begins", "ok"),
        ("toy:NoRandomActions-v0", "has_random_actions", "wrong"),
    ]


def test_modules_of_the_package_are_imported_there(run: Run, toy_python: str, tmp_path: Path) -> None:
    source = "from gem.envs.registration import register\nfrom gem.envs.toys import Good\nregister('my:Own-v0', Good)\n"
    (tmp_path / "my_own_envs.py").write_text(source)
    code, out, err = run("check", "gem:my:Own-v0", "--python", toy_python, "--module", "my_own_envs")
    assert (code, err) == (0, "")
    assert out.rstrip().endswith("The contract is kept.")
    assert "my_own_envs" not in sys.modules


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["gem:toy:Goood-v0"], "There is no environment toy:Goood-v0 in "),
        (["gem:toy:Goood-v0"], "Did you mean toy:Good-v0,"),
        (["gem:"], "gem: is followed by an id, for example gem:game:Sokoban-v0-easy."),
        (["gem:toy:Good-v0", "--module", "no_such_module"], "No module named 'no_such_module'"),
        (["gem:toy:Good-v0", "--seconds", "0"], "--seconds is a number above 0"),
        (["game:Sokoban-v0"], "--python is for environments of other packages"),
        (["verifiers:nothing"], "No module named 'verifiers'"),
        (["gymnasium:Nothing-v7"], "There is no environment Nothing-v7 in Gymnasium here"),
    ],
)
def test_what_is_not_there_is_said_in_a_sentence(run: Run, toy_python: str, arguments: list[str], said: str) -> None:
    code, out, err = run("check", *arguments, "--python", toy_python)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1


def test_an_interpreter_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="/no/python cannot be started: No such file"):
        next(DriverExamination(Target("gem", "toy:Good-v0"), "/no/python").findings())
    with pytest.raises(UsageError, match="/bin/false could not import the package"):
        next(DriverExamination(Target("gem", "toy:Good-v0"), "/bin/false").findings())


def test_names_say_what_is_checked() -> None:
    assert read_target("game:Sokoban-v0") is None
    assert read_target("gem:game:Sokoban-v0") == ("gem", "game:Sokoban-v0")
    assert read_target("gymnasium:FrozenLake-v1") == ("gymnasium", "FrozenLake-v1")
    assert read_target("verifiers:my-env") == ("verifiers", "my-env")
    assert read_target("http://127.0.0.1:8000/x") == ("openenv", "http://127.0.0.1:8000/x")
    assert read_target("openenv:http:++127.0.0.1:8000") == ("openenv", "http://127.0.0.1:8000")
