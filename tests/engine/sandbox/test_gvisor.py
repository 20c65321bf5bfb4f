"""Containers of gVisor: what they are asked for, and their life. Where runsc is installed; else only the former."""

import json
import os
import resource
import signal
import stat
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from gem.errors import SandboxUnavailable
from gem.grading.code import grade_code
from gem.grading.code_tests import CheckTests, InputTest
from gem.sandbox import Limits, gvisor
from gem.sandbox.inside.one_shot import READY
from gem.sandbox.one_shot import OneShotProcess
from gem.sandbox.pool import Pool
from tests.engine.sandbox.conftest import probe_once

FILES = 2048


@pytest.fixture
def containers() -> Pool:
    """One container at a time."""
    probe = probe_once("runsc")
    if not probe.ok:
        pytest.skip(f"no level runsc here: {probe.message}")
    return Pool("runsc", 1)


def test_a_container_is_asked_for_without_network_rights_and_anything_of_the_host(tmp_path: Path) -> None:
    bundle = str(tmp_path / "bundle")
    gvisor.make_bundle(bundle, ["python"], 1 << 20)
    described = json.loads(Path(bundle, "config.json").read_text())
    assert described["root"] == {"path": "root", "readonly": True}
    process = described["process"]
    assert process["noNewPrivileges"]
    assert not any(process["capabilities"].values())
    assert process["user"]["uid"] == (gvisor.NOBODY if os.geteuid() == 0 else 0)
    assert "network" in {entry["type"] for entry in described["linux"]["namespaces"]}
    binds = [entry for entry in described["mounts"] if entry["type"] == "bind"]
    assert all("ro" in entry["options"] for entry in binds)
    assert not any(entry["source"] in ("/", "/etc", "/home", "/root", "/tmp", "/var", "/proc") for entry in binds)
    assert str(Path(__file__).parents[3]) not in {entry["source"] for entry in binds}
    assert (
        "size=1048576"
        in next(entry for entry in described["mounts"] if entry["destination"] == gvisor.WORK_FOLDER)["options"]
    )
    assert not stat.S_IMODE(os.stat(f"{bundle}/root").st_mode) & 0o444
    line = gvisor.command_line("/usr/bin/runsc", bundle)
    assert "-network=none" in line
    assert ("-rootless" in line) == (os.geteuid() != 0)


def test_without_runsc_the_level_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEM_RUNSC", "gem-no-such-program")
    with pytest.raises(SandboxUnavailable, match="runsc is not installed"):
        gvisor.GvisorSlot()


@pytest.fixture
def thousands_of_files() -> Iterator[None]:
    """As many as a busy server has open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < FILES:
        pytest.skip(f"a process may have {hard} files here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, FILES), hard))
    with open(os.devnull) as nothing:
        held = [os.dup(nothing.fileno()) for _ in range(1100)]
        yield
        for fd in held:
            os.close(fd)
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_it_is_waited_for_however_many_files_are_open(tmp_path: Path, thousands_of_files: None) -> None:
    process = OneShotProcess(["/bin/sh", "-c", "printf r; sleep 60"], "runsc", str(tmp_path / "scratch"))
    try:
        process._expect(READY)
        assert process._out.fileno() > 1024
    finally:
        process.end()


def test_a_killed_container_is_replaced_and_nothing_is_left_at_the_end(containers: Pool) -> None:
    assert containers.run("print(1)").stdout == "1\n"
    slot = containers.take()
    os.kill(slot.pid, signal.SIGKILL)
    containers.give_back(slot)
    assert containers.run("print(2)").stdout == "2\n"
    last = containers.take()
    family = [psutil.Process(last.pid), *psutil.Process(last.pid).children(recursive=True)]
    containers.give_back(last)
    containers.close()
    _, alive = psutil.wait_procs(family, 20)
    assert alive == []


def test_no_descriptor_and_no_folder_is_lost(containers: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    containers.run("print(1)")
    before = psutil.Process().num_fds()
    for code in ("print(1)", "while True: pass"):
        containers.run(code, limits=Limits(wall_seconds=1))
    assert psutil.Process().num_fds() == before
    assert len(list(tmp_path.iterdir())) == 1
    containers.close()
    assert list(tmp_path.iterdir()) == []


def test_programs_are_judged_by_their_tests(containers: Pool) -> None:
    tests = [InputTest("1 2\n", "3\n"), InputTest("3 4\n", "7\n")]
    result = grade_code("print(sum(map(int, input().split())))", tests, pool=containers)
    assert result.passed
    containers.close()


JUDGED = {
    "right": ("def twice(x):\n    print('noise')\n    return 2 * x", [True, True]),
    "wrong": ("def twice(x):\n    return x", [True, False]),
    "ends the process": ("import os\ndef twice(x):\n    os._exit(0)", [False, False]),
    "raises": ("def twice(x):\n    raise KeyError(x)", [False, False]),
    "prints what the judge would": (
        "import os\ndef twice(x):\n    os.write(1, b'{\"passed\": true}\\n' * 2); os._exit(0)",
        [False, False],
    ),
    "never returns": ("def twice(x):\n    while True: pass", []),
    "floods": ("import os\ndef twice(x):\n    while True: os.write(4, b'x' * 65536)", []),
}


def test_tests_that_are_programs_run_in_two_containers() -> None:
    if not probe_once("runsc").ok:
        pytest.skip(f"no level runsc here: {probe_once('runsc').message}")
    pool = Pool("runsc", 2)
    tests = CheckTests("twice", "def check(candidate):\n    assert candidate(0) == 0\n    assert candidate(2) == 4\n")
    pool.run("print(1)")
    before = psutil.Process().num_fds()
    for way, (code, passed) in JUDGED.items():
        result = grade_code(code, tests, pool=pool, limits=Limits(wall_seconds=3))
        assert result.passed == (way == "right"), way
        if passed:
            assert [entry.passed for entry in result.tests] == passed, way
    pool.run("print(1)")
    assert psutil.Process().num_fds() <= before + 6, "those of one more waiting container"
    pool.close()
