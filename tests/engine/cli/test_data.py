"""`gemweb data`: what the environments over datasets have here. Fetching is in `datasets/test_hub.py`."""

import hashlib
from pathlib import Path

import pytest

from gem.datasets.names import NAMED_DATASETS
from tests.engine.cli.conftest import Run


def test_every_environment_over_a_dataset_is_listed_with_what_it_plays_on(run: Run) -> None:
    code, out, _ = run("data", "status")
    assert code == 0
    lines = {line.split()[0]: line for line in out.splitlines() if ":" in line.split(" ")[0]}
    assert set(NAMED_DATASETS) <= set(lines)
    assert "built-in sample gsm8k      60" in lines["math:GSM8K"]
    assert "70,000" in lines["logic:RuleTaker-d5"]
    assert "data may come from: sample (GEM_DATA_FROM)" in out


def test_files_of_the_data_folder_are_shown_with_their_hash(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEM_DATA", str(tmp_path))
    monkeypatch.setenv("GEM_DATA_FROM", "folder")
    (tmp_path / "math").mkdir()
    (tmp_path / "math" / "GSM8K.csv").write_text("problem,answer\n1 + 1?,2\n")
    out = run("data", "status", "GSM8K").out
    digest = hashlib.sha256((tmp_path / "math" / "GSM8K.csv").read_bytes()).hexdigest()
    assert f"file GSM8K.csv     1  {digest[:12]}" in out
    assert f"The data folder is {tmp_path}" in out
    assert "built-in sample" not in out


def test_what_is_not_there_is_said(run: Run) -> None:
    assert run("data", "status", "nothing").code == 2
    code, _, err = run("data", "fetch", "math:GSM9K")
    assert (code, "Did you mean math:GSM8K?" in err) == (2, True)
    assert "hub:owner/name" in run("data", "fetch", "unknown").err
    assert run("data").code == 2
