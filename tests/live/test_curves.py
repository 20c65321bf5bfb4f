"""trackio's own client, from the package index and unmodified, sends curves to a real server, which loses none."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.installed import environment
from tests.live.processes import Fleet, Web, wait_for

SENDERS = Path(__file__).with_name("curve_senders.py")
SECONDS = 300


@pytest.fixture
def sender(fleet: Fleet, tmp_path: Path) -> Callable[..., subprocess.Popen[str]]:
    """Starts a program that logs to trackio, with the address of a web process in its environment alone."""
    from apps.accounts.models import User
    from apps.api import operations

    _, secret = operations.make_token(User.objects.create_user("ada"), "trainer", ["submit"])

    def start(web: Web, *arguments: str, python: str = "") -> subprocess.Popen[str]:
        url = f"http://127.0.0.1:{web.port}/trackio/ada?write_token={secret}"
        env = {
            "PATH": os.environ["PATH"], "HOME": str(tmp_path), "TRACKIO_DIR": str(tmp_path / "trackio"),
            "TRACKIO_SERVER_URL": url, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(Path.cwd()), "OMP_NUM_THREADS": "1",
        }  # fmt: skip
        command = [python or str(environment("trackio") / "python"), *(arguments or (str(SENDERS),))]
        return subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    return start


def curve(name: str, metric: str) -> tuple[Any, list[float]]:
    """A training and its curve."""
    from apps.curves.models import OutsideTraining
    from apps.curves.reading import values_of

    training = OutsideTraining.objects.get(name=name)
    return training, values_of(training, metric)


def test_a_loop_appears_goes_on_and_crashes(fleet: Fleet, sender: Callable[..., subprocess.Popen[str]]) -> None:
    web = fleet.web()
    assert sender(web, str(SENDERS), "plain").wait(SECONDS) == 0
    training, losses = curve("loop", "loss")
    assert losses == [1 / (step + 1) for step in range(20)]
    assert (training.config["seed"], training.group, training.transcripts) == (3, "sweep", 1)
    assert training.latest["reward/mean"] == 0.95
    assert "loss" in training.notes
    assert sender(web, str(SENDERS), "resumed").wait(SECONDS) == 0
    again, losses = curve("loop", "loss")
    assert (again.pk, losses[-1], again.last_step) == (training.pk, 0.01, 21)
    dying = sender(web, str(SENDERS), "crashed")
    assert dying.stdout is not None
    assert "sent" in "".join(iter(dying.stdout.readline, "sent\n")) + "sent"
    dying.communicate("\n", timeout=SECONDS)
    assert curve("crash", "loss")[1] == [0, 1, 2, 3, 4]


@pytest.mark.fault
def test_nothing_is_lost_when_the_web_process_is_killed(
    fleet: Fleet, sender: Callable[..., subprocess.Popen[str]]
) -> None:
    from apps.curves.models import Entry

    web = fleet.web()
    steady = sender(web, str(SENDERS), "steady")
    assert steady.stdin is not None
    assert steady.stdout is not None
    assert "begun\n" in iter(steady.stdout.readline, "")

    def log(count: int) -> None:
        assert steady.stdin is not None
        steady.stdin.write("\n" * count)
        steady.stdin.flush()

    log(50)
    wait_for(lambda: Entry.objects.count() >= 50, "the first entries")
    log(25)
    web.running.signal(9)
    web.running.process.wait()
    log(25)
    fleet.web(web.port)
    log(50)
    steady.communicate(timeout=SECONDS)
    assert curve("steady", "loss")[1] == list(range(150))
    assert Entry.objects.count() == 150


@pytest.mark.long
@pytest.mark.parametrize(("trainer", "metric"), [("transformers", "train/loss"), ("trl", "train/reward")])
def test_the_curves_of_stock_trainers_appear(
    trainer: str, metric: str, fleet: Fleet, sender: Callable[..., subprocess.Popen[str]], tmp_path: Path
) -> None:
    pytest.importorskip("trl", reason="the packages of trainings are not installed")
    packages = next((environment("trackio").parent / "lib").glob("python3.*/site-packages"))
    program = Path(__file__).with_name("stock_trainers.py")
    run = sender(fleet.web(), str(program), trainer, str(packages), str(tmp_path), python=sys.executable)
    said, _ = run.communicate(timeout=SECONDS)
    assert run.returncode == 0, said[-2000:]
    training, values = curve(trainer, metric)
    assert len(values) >= 3
    assert training.config["learning_rate"] > 0
