"""A run goes on as if it had never stopped, and does as it is told."""

import json
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from gem.errors import InvalidArgument, UsageError
from gem.records import episode_files
from gem.replay import verify_stored
from gem.training.checkpoints import checkpoint
from gem.training.failures import TrainingFailed
from gem.training.processes import Processes
from gem.training.run_folder import RunFolder
from gem.training.spec import read_spec
from gem.training.trainer import train
from tests import warm

ROOT = Path(__file__).parents[3]
TIMES = {"seconds", "cpu_seconds", "turns_per_second", "seconds_generation", "seconds_environment", "seconds_learner"}
CHILD = [
    sys.executable,
    "-c",
    "import sys; sys.path.insert(0, '.'); import tests.engine.training.conftest as ours; ours.register_environments(); "
    "from gem.training.__main__ import main; sys.exit(main())",
]


def start(folder: Path, spec: dict[str, Any], **settings: Any) -> subprocess.Popen[str]:
    """A training in a process of its own."""
    path = folder.with_suffix(".json")
    path.write_text(json.dumps(spec))
    command = [*CHILD, "--spec", str(path), "--folder", str(folder)]
    begin = subprocess.Popen if "preexec_fn" in settings else partial(warm.popen, "training")
    return begin(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **settings)


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.stdout.read() if process.stdout else ""
        assert time.monotonic() < deadline
        time.sleep(0.01)


def untimed(folder: Path) -> list[dict[str, Any]]:
    rows = RunFolder(folder).metrics()
    return [{name: value for name, value in row.items() if name not in TIMES} for row in rows]


def same_weights(one: Path, other: Path) -> bool:
    last_of_one, last_of_other = (checkpoint.list_checkpoints(run / "checkpoints")[-1] for run in (one, other))
    assert last_of_one.name == last_of_other.name
    files = ("model.safetensors", "trainer.safetensors")
    return all(
        torch.equal(tensor, load_file(last_of_other / name)[key])
        for name in files
        for key, tensor in load_file(last_of_one / name).items()
    )


def test_a_run_that_is_done_goes_on_for_more_updates(small: dict[str, Any], tmp_path: Path) -> None:
    spec, folder = read_spec(small | {"updates": 2}), RunFolder(tmp_path / "run")
    assert train(spec, folder.path) == "finished"
    before = folder.metrics()
    folder.extend(spec.model_copy(update={"updates": 4}))
    assert train(folder.spec() or spec, folder.path) == "finished"
    assert [row["update"] for row in folder.metrics()] == [1, 2, 3, 4]
    assert folder.metrics()[:2] == before


def test_a_run_goes_on_with_other_settings_of_its_machine_and_learns_the_same(
    small: dict[str, Any], tmp_path: Path
) -> None:
    spec, folder = read_spec(small | {"updates": 2}), RunFolder(tmp_path / "run")
    train(spec, folder.path)
    machine = {"updates": 4, "microbatch_tokens": 300, "keep_checkpoints": 1, "sample_episodes": 2}
    other = spec.model_copy(update=machine)
    folder.extend(other)
    train(other, folder.path)
    train(read_spec(small), tmp_path / "whole")
    for row, whole in zip(untimed(folder.path), untimed(tmp_path / "whole"), strict=True):
        assert row == pytest.approx(whole, rel=1e-3, abs=1e-5)
    with pytest.raises(UsageError, match="settings of the machine: device"):
        folder.extend(other.model_copy(update={"learning_rate": 1e-4}))


def test_held_out_seeds_are_played_when_asked_for_and_change_nothing(small: dict[str, Any], tmp_path: Path) -> None:
    train(read_spec(small), tmp_path / "without")
    train(read_spec({**small, "held_out_every": 3, "held_out_episodes": 40}), tmp_path / "with")
    rows = untimed(tmp_path / "with")
    measured = [{name: row.pop(name) for name in list(row) if name.startswith("held_out")} for row in rows]
    assert [len(one) for one in measured] == [0, 0, 2, 2]  # after every third update, and after the last one
    assert 0 < measured[2]["held_out_return"] <= 2
    assert rows == untimed(tmp_path / "without")
    assert same_weights(tmp_path / "with", tmp_path / "without")


@pytest.mark.fault
@pytest.mark.parametrize("algorithm", ["rebn", "ppo"])
def test_a_run_that_was_killed_ends_with_the_same_bits(algorithm: str, small: dict[str, Any], tmp_path: Path) -> None:
    spec = {**small, "algorithm": algorithm, "updates": 12, "minibatches": 2, "schedule": "cosine"}
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    train(read_spec(spec), whole)
    process = start(broken, {**spec, "checkpoint_seconds": 0.2})
    wait_for(lambda: bool(checkpoint.list_checkpoints(broken / "checkpoints")), process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    with (broken / "metrics.jsonl").open("a") as file:
        file.write('{"update": 12, "half of a li')  # as a killed writer leaves it
    stored = json.loads((broken / "spec.json").read_text())
    (broken / "spec.json").write_text(json.dumps({**stored, "checkpoint_seconds": 0}))
    assert train(read_spec({**spec, "checkpoint_seconds": 0}), broken) == "finished"
    assert [row["update"] for row in RunFolder(broken).metrics()] == list(range(1, 13))
    assert untimed(broken) == untimed(whole)
    assert same_weights(whole, broken)


def test_sigterm_saves_and_exits_75_and_the_same_command_goes_on(small: dict[str, Any], tmp_path: Path) -> None:
    quiet = {"checkpoint_seconds": 9999, "sample_episodes": 0, "exam_episodes": 0}
    folder, spec = tmp_path / "run", {**small, "updates": 100_000, **quiet}
    process = start(folder, spec)
    wait_for(lambda: len(RunFolder(folder).metrics()) >= 2, process)
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 75
    state = RunFolder(folder).state()
    assert state["state"] == "interrupted"
    saved = checkpoint.list_checkpoints(folder / "checkpoints")
    assert [path.name for path in saved] == [f"{state['update']:06d}"]
    again = start(folder, spec)
    wait_for(lambda: len(RunFolder(folder).metrics()) > state["update"], again)
    (folder / "cancel").touch()
    assert again.wait(60) == 0
    assert RunFolder(folder).state()["state"] == "cancelled"
    updates = [row["update"] for row in RunFolder(folder).metrics()]
    assert updates == list(range(1, len(updates) + 1))


def test_ctrl_c_saves_and_exits_75_like_sigterm(small: dict[str, Any], tmp_path: Path) -> None:
    quiet = {"checkpoint_seconds": 9999, "sample_episodes": 0, "exam_episodes": 0}
    folder = tmp_path / "run"
    listening = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # a test runner may have it ignored
    process = start(folder, {**small, "updates": 100_000, **quiet}, preexec_fn=listening)
    wait_for(lambda: len(RunFolder(folder).metrics()) >= 2, process)
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=60)
    assert process.returncode == 75, said
    assert "stopping after this update. Ctrl-C again stops at once." in said
    assert "Traceback" not in said
    state = RunFolder(folder).state()
    assert state["state"] == "interrupted"
    saved = checkpoint.list_checkpoints(folder / "checkpoints")
    assert [path.name for path in saved] == [f"{state['update']:06d}"]


def test_an_interrupt_in_a_program_is_raised_and_the_run_goes_on_from_its_checkpoint(
    small: dict[str, Any], tmp_path: Path
) -> None:
    def interrupt(metrics: dict[str, float]) -> None:
        if metrics["update"] == 2:
            raise KeyboardInterrupt

    spec = read_spec({**small, "updates": 3, "checkpoint_seconds": 0})
    with pytest.raises(KeyboardInterrupt):
        train(spec, tmp_path, interrupt)
    assert RunFolder(tmp_path).state()["state"] == "interrupted"
    assert train(spec, tmp_path) == "finished"
    assert [row["update"] for row in RunFolder(tmp_path).metrics()] == [1, 2, 3]


def test_a_training_takes_a_specification_and_the_path_of_a_folder_as_text(
    small: dict[str, Any], tmp_path: Path
) -> None:
    with pytest.raises(InvalidArgument, match=r"^train takes a TrainingSpec, such as read_spec"):
        train(small, tmp_path)  # type: ignore[arg-type]
    assert train(read_spec({**small, "updates": 1}), str(tmp_path / "run")) == "finished"
    assert len(RunFolder(str(tmp_path / "run")).metrics()) == 1


def test_a_folder_that_is_not_there_is_no_model_of_a_hub(small: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match=r"^There is no folder '.*/checkpoints/000999'"):
        train(read_spec({**small, "model": str(tmp_path / "checkpoints" / "000999")}), tmp_path / "run")


def test_a_paused_run_waits_until_the_file_is_gone(small: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "pause").touch()
    with ThreadPoolExecutor(1) as beside:
        run = beside.submit(train, read_spec(small), folder)
        deadline = time.monotonic() + 120
        while RunFolder(folder).state().get("state") != "paused" and not run.done():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert RunFolder(folder).metrics() == []
        (folder / "pause").unlink()
        assert run.result(120) == "finished"
    assert RunFolder(folder).state()["state"] == "finished"


@pytest.mark.fault
def test_a_full_disk_leaves_the_last_checkpoint_whole(small: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    train(read_spec({**small, "updates": 2}), folder)
    stored = json.loads((folder / "spec.json").read_text()) | {"updates": 50}
    (folder / "spec.json").write_text(json.dumps(stored))

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))  # smaller than the weights, larger than the rest
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    process = start(folder, {**small, "updates": 50}, preexec_fn=limit)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 1, output
    state = RunFolder(folder).state()
    assert state["state"] == "failed"
    assert "cannot be written" in state["reason"] or "is full" in state["reason"]
    last = checkpoint.list_checkpoints(folder / "checkpoints")[-1]
    assert last.name == "000002"
    assert load_file(last / "model.safetensors")
    assert not [path for path in (folder / "checkpoints").iterdir() if path.name.startswith(".")]


def test_what_is_no_number_stops_it_with_the_batch(small: dict[str, Any], tmp_path: Path) -> None:
    spec = read_spec({**small, "learning_rate": 1.0, "gradient_clip": 0, "algorithm": "reinforce", "updates": 4})
    train(read_spec({**small, "updates": 1}), tmp_path / "first")
    place = checkpoint.list_checkpoints(tmp_path / "first" / "checkpoints")[-1]
    weights = load_file(place / "model.safetensors")
    weights["model.norm.weight"][0] = float("nan")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    for path in place.iterdir():
        (damaged / path.name).write_bytes(path.read_bytes())
    from safetensors.torch import save_file

    save_file(weights, damaged / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(TrainingFailed, match="is nan"):
        train(spec.model_copy(update={"model": str(damaged)}), tmp_path / "run")
    state = RunFolder(tmp_path / "run").state()
    assert state["state"] == "failed"
    batch = list(episode_files.read(tmp_path / "run" / "episodes" / "failed-batch.jsonl"))
    assert len(batch) == small["episodes"]


@pytest.mark.parametrize(
    ("error", "reason"), [(TypeError("no such thing"), "TypeError: no such thing"), (UsageError("Not so."), "Not so.")]
)
def test_an_error_that_nobody_expected_ends_it_as_failed(
    small: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, reason: str
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr(RunFolder, "write_episodes", fail)
    with pytest.raises(type(error)):
        train(read_spec(small), tmp_path)
    state = RunFolder(tmp_path).state()
    assert (state["state"], state["reason"]) == ("failed", reason)


def test_the_episodes_of_an_update_can_be_read_and_replayed(small: dict[str, Any], tmp_path: Path) -> None:
    train(read_spec({**small, "algorithm": "grpo", "group_size": 4, "sample_episodes": 8}), tmp_path)
    path = tmp_path / "episodes" / "000004.jsonl"
    stored = list(episode_files.read(path))
    assert len(stored) == 8
    assert [verify_stored(one) for one in stored] == [None] * 8
    groups = [json.loads(line)["group"] for line in path.read_text().splitlines()]
    assert groups == [0] * 4 + [1] * 4
    seeds = [one.record.identity.seed for one in stored]
    assert len(set(seeds)) == 2
    assert min(seeds) >= 2**40


def test_an_environment_that_breaks_is_left_out(small: dict[str, Any], tmp_path: Path) -> None:
    train(read_spec({**small, "env_id": "test:StuckBandit-v0", "updates": 1}), tmp_path)
    (row,) = RunFolder(tmp_path).metrics()
    assert 0 < row["broken"] < small["episodes"]
    assert row["episodes"] == small["episodes"] - row["broken"]


def test_the_curriculum_goes_on_once_a_stage_is_solved(small: dict[str, Any], tmp_path: Path) -> None:
    easy = {"env_id": small["env_id"], "env_kwargs": {"rounds": 1}, "until_success": 0.1, "window": 2}
    train(read_spec({**small, "curriculum": [easy], "env_kwargs": {"rounds": 2}}), tmp_path)
    rows = RunFolder(tmp_path).metrics()
    assert [row["stage"] for row in rows] == [0, 0, 1, 1]
    assert rows[0]["turns_per_episode"] <= 1 < rows[-1]["turns_per_episode"]


def test_the_curriculum_goes_on_after_so_many_updates_also_when_it_was_stopped_between(
    small: dict[str, Any], tmp_path: Path
) -> None:
    stages = [
        {"env_id": small["env_id"], "env_kwargs": {"rounds": rounds}, "until_success": 1.0, "updates": updates}
        for rounds, updates in ((1, 1), (2, 2))
    ]
    spec = {**small, "curriculum": stages, "env_kwargs": {"rounds": 3}, "updates": 2}
    train(read_spec(spec), tmp_path)
    RunFolder(tmp_path).extend(read_spec({**spec, "updates": 5}))
    train(read_spec({**spec, "updates": 5}), tmp_path)
    rows = RunFolder(tmp_path).metrics()
    assert [row["stage"] for row in rows] == [0, 1, 1, 2, 2]
    assert rows[0]["turns_per_episode"] <= 1 < rows[1]["turns_per_episode"]


def exams(folder: Path) -> dict[str, list[int]]:
    """The seeds that were played before the first update and at each checkpoint, by update."""
    files = sorted((folder / "exams").iterdir())
    return {path.stem: [episode.record.identity.seed for episode in episode_files.read(path)] for path in files}


def test_the_exam_shows_the_policy_before_it_was_trained_and_at_each_checkpoint(
    small: dict[str, Any], tmp_path: Path
) -> None:
    quiet = {**small, "updates": 2, "checkpoint_seconds": 9999, "exam_episodes": 3}
    train(read_spec(quiet), tmp_path / "run")
    assert exams(tmp_path / "run") == {"000000": [0, 1, 2], "000002": [0, 1, 2]}
    train(read_spec({**quiet, "updates": 3}), forked(tmp_path / "run", tmp_path / "fork"))
    assert list(exams(tmp_path / "fork")) == ["000002", "000003"], "a fork begins with its parent's policy"
    train(read_spec({**quiet, "exam_episodes": 0}), tmp_path / "none")
    assert exams(tmp_path / "none") == {}


def forked(parent: Path, folder: Path) -> Path:
    """A run's folder that begins with the last checkpoint of another."""
    place = checkpoint.list_checkpoints(parent / "checkpoints")[-1]
    shutil.copytree(place, folder / "checkpoints" / place.name)
    return folder


@pytest.mark.parametrize(("before", "after"), [("rebn", "ppo"), pytest.param("ppo", "grpo", marks=pytest.mark.long)])
def test_a_fork_may_have_another_algorithm(before: str, after: str, small: dict[str, Any], tmp_path: Path) -> None:
    train(read_spec({**small, "algorithm": before, "updates": 2}), tmp_path / "parent")
    spec = read_spec({**small, "algorithm": after, "updates": 4})
    assert train(spec, forked(tmp_path / "parent", tmp_path / "fork")) == "finished"
    assert [row["update"] for row in RunFolder(tmp_path / "fork").metrics()] == [3, 4]
    last = checkpoint.list_checkpoints(tmp_path / "fork" / "checkpoints")[-1]
    assert any(name.startswith("value_head") for name in load_file(last / "trainer.safetensors")) == (after == "ppo")


def test_a_fork_may_have_a_shorter_curriculum(small: dict[str, Any], tmp_path: Path) -> None:
    stages = [{"env_id": small["env_id"], "env_kwargs": {"rounds": 1}, "updates": 1}]
    train(read_spec({**small, "curriculum": stages, "updates": 2}), tmp_path / "parent")
    assert train(read_spec(small), forked(tmp_path / "parent", tmp_path / "fork")) == "finished"
    assert [row["stage"] for row in RunFolder(tmp_path / "fork").metrics()] == [0, 0]


def test_two_processes_cannot_train_in_one_folder(small: dict[str, Any], tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.begin(read_spec(small))
    with folder.lock(), pytest.raises(UsageError, match="Another process trains"):
        train(read_spec(small), tmp_path)


def test_another_specification_is_refused(small: dict[str, Any], tmp_path: Path) -> None:
    RunFolder(tmp_path).begin(read_spec(small))
    with pytest.raises(UsageError, match="holds another training"):
        train(read_spec({**small, "seed": 1}), tmp_path)


def test_episodes_are_shared_equally_and_in_whole_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = Processes()
    monkeypatch.setattr(processes, "count", 3)
    monkeypatch.setattr(processes, "rank", 1)
    assert processes.share(48, 8) == range(16, 32)
    with pytest.raises(InvalidArgument, match="32 episodes cannot be shared equally by 3 processes"):
        processes.share(32, 1)
    with pytest.raises(InvalidArgument, match="30 episodes in groups of 6"):
        processes.share(30, 6)


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["rebn", "grpo", "ppo"])
def test_two_processes_see_the_statistics_of_one(algorithm: str, small: dict[str, Any], tmp_path: Path) -> None:
    spec = {**small, "updates": 3, "algorithm": algorithm, "held_out_every": 3, "held_out_episodes": 9}
    train(read_spec(spec), tmp_path / "one")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    both = [
        start(tmp_path / "two", spec, env={**os.environ, "OMP_NUM_THREADS": "1", **as_torchrun_says(rank, 2, port)})
        for rank in range(2)
    ]
    for process in both:
        output, _ = process.communicate(timeout=200)
        assert process.returncode == 0, output
    one, two = untimed(tmp_path / "one"), untimed(tmp_path / "two")
    assert len(one) == len(two) == 3
    for first, second in zip(one, two, strict=True):
        assert second == pytest.approx(first, rel=1e-3, abs=1e-4)
    assert one[0]["return"] == two[0]["return"]
    assert "held_out_return" in one[2]


def as_torchrun_says(rank: int, count: int, port: int) -> dict[str, str]:
    """What torchrun has in the environment of each process that it starts, for them to find one another."""
    numbers = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "MASTER_PORT": port}
    return {"MASTER_ADDR": "127.0.0.1", **{name: str(number) for name, number in numbers.items()}}
