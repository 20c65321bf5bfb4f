"""A policy is tried in a process of its own, and whatever breaks there is said in a sentence."""

import contextlib
import json
import os
import resource
import shutil
import signal
import struct
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from gem.errors import InvalidArgument
from gem.sandbox import process_confinement
from gem.sandbox.inside.confinement.landlock import ABI_WITH_TRUNCATE
from gem.sandbox.inside.confinement.landlock import abi as landlock_abi
from gem.training.built_in_policies import policy_location
from gem.training.checkpoints import trial
from gem.training.checkpoints.trial import FIRST_TURN, TIMEOUT_SECONDS, try_folder
from tests import warm
from tests.engine.sandbox.leftovers import wait_until_none_is_left

pytest.importorskip("torch", reason="policies need torch, which `make test` installs")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return shutil.copytree(policy_location("nano-base"), tmp_path / "policy")


def changed(folder: Path, name: str, **entries: object) -> None:
    (folder / name).write_text(json.dumps({**json.loads((folder / name).read_text()), **entries}))


def processes_of_trials() -> list[psutil.Process]:
    """The processes below this one that play first turns, without those that only start them."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            if FIRST_TURN in process.cmdline() and not process.children():
                found.append(process)
    return found


def is_confined(process: psutil.Process) -> bool:
    """Whether the kernel filters a process's calls, and it has neither our network nor our files."""
    with contextlib.suppress(OSError):
        ours, its = Path("/proc/self"), Path(f"/proc/{process.pid}")
        status = dict(line.split(":", 1) for line in (its / "status").read_text().splitlines())
        apart = all(os.readlink(its / "ns" / kind) != os.readlink(ours / "ns" / kind) for kind in ("net", "mnt", "pid"))
        return apart and status["Seccomp"].strip() == "2" and not (its / "root" / "etc" / "shadow").exists()
    return False


@pytest.mark.skipif(bool(process_confinement.obstacle()), reason=process_confinement.obstacle() or "confined")
def test_it_plays_what_its_card_names_in_a_process_without_network_or_files(folder: Path) -> None:
    confined: list[bool] = []

    def look() -> bool:
        confined.extend(is_confined(process) for process in processes_of_trials())
        return False

    result = try_folder(folder, "game:TowerofHanoi-v0-easy", should_stop=look)
    assert confined[-1:] == [True]
    assert result.env_id == "game:TowerofHanoi-v0-easy"
    assert result.action
    assert result.parameters == 229_824


def test_a_chat_template_that_loops_ends_the_process(folder: Path) -> None:
    done = warm.run("training", first_turn_command(with_template(folder, LOOP)))
    assert done.returncode == -signal.SIGPROF
    assert trial._describe_end(done.returncode).startswith("The chat template was ended after a second")


@pytest.mark.skipif(landlock_abi() < ABI_WITH_TRUNCATE, reason="no Landlock here")
def test_it_plays_where_there_are_no_namespaces(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_confinement, "_obstacle", "There are no namespaces.")
    assert try_folder(folder, "game:TowerofHanoi-v0-easy").env_id == "game:TowerofHanoi-v0-easy"


LOOP = "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"


def with_template(folder: Path, template: str) -> Path:
    """The policy with this chat template."""
    tokenizer = (folder / "tokenizer.json").read_text()
    (folder / "tokenizer.json").write_text(tokenizer.replace("<act>", "<say>"))  # so it is no nano policy
    changed(folder, "tokenizer_config.json", chat_template=template)
    return folder


@pytest.mark.long
@pytest.mark.parametrize("template", [LOOP, "{{ 9 ** (9 ** 9) }}"])
def test_a_chat_template_that_loops_is_ended_after_a_second(folder: Path, template: str) -> None:
    with_template(folder, template)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    with pytest.raises(InvalidArgument, match=r"The chat template was ended after a second"):
        try_folder(folder)
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < TIMEOUT_SECONDS / 4


def first_turn_command(folder: Path, env_id: str = "") -> list[str]:
    return [sys.executable, "-m", FIRST_TURN, str(folder), env_id]


def first_turn(folder: Path, env_id: str = "") -> dict[str, Any]:
    """What the process says that `try_folder` starts."""
    done = warm.run("training", first_turn_command(folder, env_id))
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
    wait_until_none_is_left(folder)
