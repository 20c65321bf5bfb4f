"""A policy is tried in a process of its own, and whatever breaks there is said in a sentence."""

import json
import shutil
import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from gem.errors import InvalidArgument
from gem.training.checkpoints.trial import try_folder
from gem.training.policy.prompts import policy_location
from tests import warm

pytest.importorskip("torch", reason="policies need torch, which `make test` installs")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(policy_location("nano-base"), tmp_path / "policy")


def changed(folder: Path, name: str, **entries: object) -> None:
    (folder / name).write_text(json.dumps({**json.loads((folder / name).read_text()), **entries}))


def test_it_plays_what_its_card_names(folder: Path) -> None:
    result = try_folder(folder, "game:TowerofHanoi-v0-easy")
    assert result.env_id == "game:TowerofHanoi-v0-easy"
    assert result.action
    assert result.parameters == 229_824


def first_turn(folder: Path, env_id: str = "") -> dict[str, Any]:
    """What the process says that `try_folder` starts."""
    done = warm.run("training", [sys.executable, "-m", "gem.training.checkpoints.first_turn", str(folder), env_id])
    told: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == ("refused" in told)
    return told


def test_an_environment_that_is_not_here_is_replaced(folder: Path) -> None:
    assert first_turn(folder, "elsewhere:Game-v7")["env_id"] == "game:GuessTheNumber-v0-easy"


def test_weights_of_another_model_are_refused(folder: Path) -> None:
    changed(folder, "config.json", num_hidden_layers=3)
    assert "do not belong together" in first_turn(folder)["refused"]


def test_weights_that_are_no_numbers_are_refused(folder: Path) -> None:
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    length = struct.unpack("<Q", content[:8])[0]
    header = json.loads(content[8 : 8 + length])
    first, last = header["model.norm.weight"]["data_offsets"]
    content[8 + length + first : 8 + length + last] = struct.pack("<f", float("nan")) * ((last - first) // 4)
    path.write_bytes(content)
    assert "no numbers" in first_turn(folder)["refused"]


def test_a_configuration_that_wants_all_memory_ends_the_process_only(folder: Path) -> None:
    changed(folder, "config.json", max_position_embeddings=10_000_000, head_dim=1000)
    with pytest.raises(InvalidArgument, match="more memory"):
        try_folder(folder)


def test_one_that_takes_too_long_is_ended(folder: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"did not answer within 0 s"):
        try_folder(folder, timeout_seconds=0.05)
