"""Processes that play the policies of other people: what each mechanism keeps from them, and how they end."""

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from gem.errors import SandboxUnavailable
from gem.processes import HelperProcess
from gem.sandbox import policy_confinement, process_confinement
from gem.sandbox.inside.confinement import landlock
from gem.sandbox.policy_confinement import UNCONFINED_VARIABLE, PolicyLimits
from gem.sandbox.process_confinement import StartCommand
from tests.engine.sandbox.leftovers import processes_of, wait_until_none_is_left

HAS_LANDLOCK = sys.platform == "linux" and landlock.abi() >= landlock.ABI_WITH_TRUNCATE
NAMESPACES, LANDLOCK = "namespaces", "landlock"
ANSWERS = "import sys\nfor line in sys.stdin:\n    print(line, end='', flush=True)"
LOOPS = "print('{}', flush=True)\nwhile True: pass"
TRIES = """
import json, os, socket, subprocess, sys
def result(act):
    try:
        act()
    except OSError as error:
        return type(error).__name__
    return "done"
print(json.dumps({
    "own": result(lambda: open(sys.argv[1])),
    "outside": result(lambda: open(sys.argv[2])),
    "passwords": result(lambda: open("/etc/shadow")),
    "empty": result(lambda: open(sys.argv[1], "w")),
    "change": result(lambda: open(sys.argv[1], "r+")),
    "connect": result(lambda: socket.create_connection(("127.0.0.1", int(sys.argv[3])), 2)),
    "program": result(lambda: subprocess.run(["/bin/true"])),
    "signal": result(lambda: os.kill(int(sys.argv[4]), 0)),
}))
"""


@pytest.fixture(params=[NAMESPACES, LANDLOCK])
def mechanism(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == NAMESPACES and process_confinement.obstacle():
        pytest.skip(process_confinement.obstacle())
    if request.param == LANDLOCK:
        if not HAS_LANDLOCK:
            pytest.skip("no Landlock here")
        monkeypatch.setattr(process_confinement, "_obstacle", "There are no namespaces.")
    return str(request.param)


def start(folder: Path, program: str, *args: str) -> StartCommand:
    """The command that runs a program of ours, which alone may be read, as a module of the engine is run."""
    folder.mkdir(exist_ok=True)
    folder.joinpath("said.py").write_text(program)
    path = {"PYTHONPATH": f"{folder}:{policy_confinement.ENGINE_FOLDER.parent}"}
    return policy_confinement.command("said", args, [folder], PolicyLimits(1 << 30, cpu_seconds=60), path)


@pytest.mark.usefixtures("mechanism")
def test_nothing_of_it_outlives_the_process_that_was_started(tmp_path: Path) -> None:
    folder = tmp_path / "policy"
    command = start(folder, LOOPS)
    with subprocess.Popen(command.argv, env=command.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"{}\n"
        assert processes_of(folder)
        process.kill()
    wait_until_none_is_left(folder)


@pytest.mark.usefixtures("mechanism")
def test_a_helper_outlives_the_thread_of_its_first_call(tmp_path: Path) -> None:
    folder = tmp_path / "policy"

    def make_command() -> tuple[list[str], dict[str, str]]:
        command = start(folder, ANSWERS)
        return command.argv, command.env

    helper = HelperProcess("said", "The process that answers", make_command=make_command)
    answers: list[tuple[object, set[int]]] = []
    for number in range(2):
        thread = threading.Thread(
            target=lambda number=number: answers.append(  # type: ignore[misc]
                (helper.call(number=number), {process.pid for process in processes_of(folder)})
            )
        )
        thread.start()
        thread.join()
    helper.close()
    assert [answer for answer, _ in answers] == [{"number": 0}, {"number": 1}]
    assert answers[0][1] == answers[1][1] != set()
    wait_until_none_is_left(folder)


@pytest.mark.usefixtures("mechanism")
def test_it_reads_its_own_files_and_reaches_nothing_else(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("of somebody else")
    folder = tmp_path / "policy"
    own = folder / "said.py"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        command = start(folder, TRIES, str(own), str(outside), str(listener.getsockname()[1]), str(os.getpid()))
        done = subprocess.run(command.argv, env=command.env, capture_output=True, text=True, check=True)
    results = json.loads(done.stdout)
    assert results.pop("own") == "done"
    assert "done" not in results.values(), results
    assert len(results) == 7


@pytest.mark.usefixtures("mechanism")
def test_it_finds_the_libraries_of_the_system(tmp_path: Path) -> None:
    program = "import ctypes.util, json\nprint(json.dumps({'found': ctypes.util.find_library('dl')}))"
    command = start(tmp_path / "policy", program)
    done = subprocess.run(command.argv, env=command.env, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["found"] in (None, "libdl.so.2")


def test_without_either_mechanism_none_is_started_unless_the_operator_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_confinement, "_obstacle", "There are no namespaces.")
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    monkeypatch.delenv(UNCONFINED_VARIABLE, raising=False)
    with pytest.raises(SandboxUnavailable, match="runs none of them"):
        start(tmp_path, ANSWERS)
    monkeypatch.setenv(UNCONFINED_VARIABLE, "1")
    assert start(tmp_path, ANSWERS).argv == [sys.executable, "-m", "said"]
