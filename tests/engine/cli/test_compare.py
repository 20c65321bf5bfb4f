"""`gemweb compare`: files and folders of episodes, beside one another."""

import json
from pathlib import Path

import pytest

from tests.engine.cli.conftest import Run

ENV_ID, OTHER = "game:GuessTheNumber-v0-easy", "game:Minesweeper-v0-easy"


@pytest.fixture
def files(run: Run, tmp_path: Path) -> tuple[Path, Path]:
    """The episodes of the random agent and of the expert on 15 seeds."""
    paths = tmp_path / "random.jsonl", tmp_path / "expert.jsonl"
    for path in paths:
        arguments = ["--env", ENV_ID, "--env", OTHER, "--episodes", 15, "--out", path]
        assert run("eval", "--agent", path.stem, *arguments).code == 0
    return paths


def test_it_says_which_agent_is_better_and_where(run: Run, files: tuple[Path, Path]) -> None:
    code, out, err = run("compare", *files, "--show", 0.03)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[1].startswith("A  random")
    assert lines[2].startswith("B  expert")
    assert lines[2].endswith("1")
    verdict = next(line for line in lines if line.startswith("On 30 seeds"))
    assert "expert solves" in verdict
    assert "more than random" in verdict
    assert [line.split()[0] for line in lines if line.endswith("B better")] == [ENV_ID, OTHER, "all,"]
    assert "A difference of 3.0 points takes" in out
    assert "Caution" not in out


def test_the_same_as_json_with_every_seed(run: Run, files: tuple[Path, Path]) -> None:
    data = json.loads(run("compare", *files, "--json", "--measure", "return").out)
    assert data["runs"] == ["random", "expert"]
    (pair,) = data["pairs"]
    assert pair["decided"] is True
    assert len(pair["seeds"]) == 30
    won = [row for row in pair["seeds"] if row["outcome"] == "won"]
    assert len(won) == pair["difference"]["won"]
    assert [row["seed"] for row in pair["seeds"]] == [*range(15), *range(15)]
    assert all(row["first_episodes"][0].startswith("line ") for row in pair["seeds"])
    assert data["scores"][1]["success"]["seeds"] == 30


def test_seeds_are_listed_by_outcome_and_other_limits_are_a_caution(
    run: Run, files: tuple[Path, Path], tmp_path: Path
) -> None:
    short = tmp_path / "short"
    short.mkdir()
    for number, seed in enumerate((0, 10)):
        arguments = ["--env", ENV_ID, "--episodes", 5, "--seed", seed, "--max-turns", 1]
        assert run("eval", "--agent", "random", *arguments, "--out", short / f"{number}.jsonl").code == 0
    out = run("compare", files[0], short, "--list", "lost").out
    assert "A  random (random)" in out
    assert "B  random (short)" in out
    assert "Caution: Only 10 of 30 seeds were played in all runs." in out
    assert "The environments were wrapped differently" in out
    assert f'{ENV_ID}.wrappers: A: –, B: [{{"name": "time_limit", "max_turns": 1}}]' in out
    assert ": lost, 0 against 1" not in out


def test_one_file_may_have_several_agents(run: Run, files: tuple[Path, Path], tmp_path: Path) -> None:
    both = tmp_path / "both.jsonl"
    both.write_bytes(b"".join(path.read_bytes() for path in files))
    assert run("compare", both).out == run("compare", *files).out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["{random}"], "Compare 2 to 6 runs, not 1."),
        (["{random}", "no/such/file.jsonl"], "There is no file or folder no/such/file.jsonl."),
        (["{random}", "{folder}"], "has no files that end in .jsonl or .json."),
        (["{random}", "{expert}", "--measure", "luck"], "invalid choice: 'luck'"),
        (["{random}", "{expert}", "--show", "0"], "No number of seeds shows a difference of 0 or less."),
    ],
)
def test_bad_input_is_answered_in_one_sentence(
    run: Run, files: tuple[Path, Path], tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    names = {"random": files[0], "expert": files[1], "folder": empty}
    code, _, err = run("compare", *[argument.format(**names) for argument in arguments])
    assert code == 2
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_a_misspelt_file_is_no_matter_of_the_network_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMWEB_URL", "http://127.0.0.1:9")
    code, _, err = run("compare", "randon", "expert")
    assert code == 3
    assert err.startswith(
        "gemweb compare: There is no file or folder randon here, and no server to ask for it: No conn"
    )
    assert len(err.splitlines()) == 1
