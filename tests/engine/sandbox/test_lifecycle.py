"""Sandboxes survive their own death, and leave nothing behind when their host dies."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

import gem.sandbox
from gem.errors import SandboxUnavailable
from gem.sandbox import Level, Limits, pool
from gem.sandbox.pool import Pool
from tests.engine.sandbox.conftest import probe_once

WITH_ZYGOTE: tuple[Level, ...] = ("full", "landlock")
"""The levels that start their sandboxes with one; `test_gvisor.py` is about the life of the other."""


def until(holds: Callable[[], bool]) -> bool:
    """Whether something comes true within twenty seconds."""
    end = time.monotonic() + 20
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def below(pid: int) -> list[psutil.Process]:
    """All descendants of a process."""
    return psutil.Process(pid).children(recursive=True)


def zygotes() -> list[psutil.Process]:
    """The processes that this one started sandboxes with."""
    return [child for child in psutil.Process().children() if "inside.launch" in _command(child)]


def _command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:  # it has ended, also if nobody has waited for it yet
        return ""


@pytest.fixture(params=["first", *(pytest.param(level, marks=pytest.mark.long) for level in WITH_ZYGOTE)])
def fresh(request: pytest.FixtureRequest) -> Pool:
    """A pool whose sandboxes may be killed: at the first level that works here, for a pool does the same at each."""
    working = [level for level in WITH_ZYGOTE if request.param in ("first", level) and probe_once(level).ok]
    if not working:
        pytest.skip("no sandbox with a zygote here")
    return Pool(working[0], 1)


def test_a_killed_zygote_is_replaced(fresh: Pool) -> None:
    assert fresh.run("print(1)").ok
    before = {process.pid for process in zygotes()}
    slot = fresh.take()
    fresh.give_back(slot)
    for pid in [*(process.pid for process in below(slot.pid)), slot.pid]:
        with contextlib.suppress(ProcessLookupError):  # gone with the one before
            os.kill(pid, signal.SIGKILL)
    assert fresh.run("print(2)").stdout == "2\n"
    assert slot.pid in before
    assert not psutil.pid_exists(slot.pid)
    fresh.close()


def test_a_zygote_killed_during_a_run_loses_that_run_to_a_second_try(fresh: Pool) -> None:
    fresh.run("print(1)")
    slot = fresh.take()
    fresh.give_back(slot)
    timer = threading.Timer(0.3, psutil.Process(slot.pid).kill)
    timer.start()
    assert fresh.run("import time\ntime.sleep(1)\nprint('finished')").stdout == "finished\n"
    fresh.close()


def test_nothing_is_left_when_the_pool_is_closed(fresh: Pool) -> None:
    fresh.run("print(1)")
    slot = fresh.take()
    fresh.give_back(slot)
    family = [psutil.Process(slot.pid), *below(slot.pid)]
    fresh.close()
    assert until(lambda: not any(process.is_running() for process in family))
    with pytest.raises(SandboxUnavailable, match="closed"):
        fresh.run("print(1)")


HOST = """
import sys, threading, time
from gem.sandbox import Limits
from gem.sandbox.pool import Pool
pool = Pool(sys.argv[1], 2)
pool.run("print(1)")
threading.Thread(target=pool.run, args=("while True: pass",), kwargs={"limits": Limits(wall_seconds=300)}).start()
time.sleep(0.5)
print("ready", flush=True)
time.sleep(300)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A temporary folder that other users may enter, unlike those of pytest: sandboxes of root run as one of them."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o1777)
        yield Path(folder)


def test_nothing_is_left_when_its_host_is_killed(level: Level, open_folder: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(open_folder)}
    command = [sys.executable, "-c", HOST, level]
    host = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path.cwd(), env=environment)
    assert host.stdout is not None
    assert host.stdout.readline() == b"ready\n"
    family = below(host.pid)
    assert len(family) >= 2
    os.kill(host.pid, signal.SIGKILL)
    host.wait()
    assert until(lambda: not any(process.is_running() for process in family))
    assert list(open_folder.iterdir()) == []


def test_threads_share_the_sandboxes(fresh: Pool) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: fresh.run(f"print({n})").stdout, range(40)))
    assert found == [f"{n}\n" for n in range(40)]
    fresh.close()


def test_two_at_once_are_no_more_than_there_may_be(level: Level) -> None:
    two = Pool(level, 2)
    assert two.run("print(1)").ok
    for slot in two.take_many(2, frozenset({"sympy"})):
        assert slot.has(frozenset({"sympy"}))
        two.give_back(slot)
    assert len(two._sandboxes) == 2
    two.close()


def test_one_that_is_given_back_while_the_pool_is_closed_is_ended(fresh: Pool) -> None:
    slot = fresh.take()
    family = [psutil.Process(slot.pid), *below(slot.pid)]
    closing = threading.Thread(target=fresh.close)

    def close_meanwhile(_: object) -> int:
        if closing.ident is None:
            closing.start()
            closing.join(timeout=0.5)  # it ends here, unless it has to wait until the sandbox is given back
        return 0

    slot.__class__ = type("Watched", (type(slot),), {"jobs": property(close_meanwhile)})
    fresh.give_back(slot)
    closing.join()
    assert until(lambda: not any(process.is_running() for process in family))


def test_a_sandbox_outlives_the_thread_that_started_it(fresh: Pool) -> None:
    with ThreadPoolExecutor(1) as thread:
        thread.submit(fresh.run, "print(1)").result()
    slot = fresh.take()
    time.sleep(0.2)
    assert psutil.Process(slot.pid).status() != psutil.STATUS_ZOMBIE
    fresh.give_back(slot)
    fresh.close()


def in_a_fork(answers: "multiprocessing.Queue[str]") -> None:
    """Runs code in a process forked from one with warm sandboxes."""
    answers.put(gem.sandbox.run("print('in the fork')").stdout)


@pytest.mark.skipif(gem.sandbox.level() == "disabled", reason="no sandbox here")
def test_a_forked_process_has_sandboxes_of_its_own() -> None:
    assert gem.sandbox.run("print('before')").stdout == "before\n"
    context = multiprocessing.get_context("fork")
    answers: multiprocessing.Queue[str] = context.Queue()
    child = context.Process(target=in_a_fork, args=(answers,))
    child.start()
    assert answers.get(timeout=60) == "in the fork\n"
    child.join()
    assert child.exitcode == 0
    assert gem.sandbox.run("print('after')").stdout == "after\n"


def held(pid: int) -> set[str]:
    """The sockets that a process has open."""
    links = {os.readlink(path) for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_symlink()}
    return {link for link in links if link.startswith("socket:")}


@pytest.mark.skipif(gem.sandbox.level() == "disabled", reason="no sandbox here")
def test_a_process_forked_during_a_run_holds_on_to_nothing() -> None:
    pool.close_shared()
    before = held(os.getpid())
    gem.sandbox.run("print(1)")
    running = threading.Thread(target=gem.sandbox.run, args=("import time\ntime.sleep(1)",))
    running.start()
    time.sleep(0.3)
    child = os.fork()
    if child == 0:  # an idle fork, as servers have them
        time.sleep(60)
        os._exit(0)
    try:
        sockets = held(os.getpid()) - before
        assert sockets
        assert until(lambda: not held(child) & sockets)  # else the zygotes would outlive us as long as it lives
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        running.join()


def test_a_sandbox_is_replaced_after_many_runs(fresh: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gem.sandbox.pool.MAX_JOBS_PER_SANDBOX", 3)
    seen = set()
    for _ in range(7):
        slot = fresh.take()
        seen.add(slot.pid)
        fresh.give_back(slot)
        assert fresh.run("print(1)").ok
    assert len(seen) >= 2
    fresh.close()


def test_more_libraries_are_learnt_without_a_restart(fresh: Pool) -> None:
    pytest.importorskip("numpy")
    fresh.run("print(1)")
    slot = fresh.take()
    fresh.give_back(slot)
    assert fresh.run("import sys\nprint('numpy' in sys.modules) # numpy").stdout == "True\n"
    again = fresh.take()
    assert again.pid == slot.pid
    fresh.give_back(again)
    fresh.close()


def test_no_descriptor_is_lost(fresh: Pool) -> None:
    fresh.run("print(1)")
    before = psutil.Process().num_fds()
    for _ in range(10):
        fresh.run("print(1)")
        fresh.run("while True: pass", limits=Limits(wall_seconds=0.05))
    assert psutil.Process().num_fds() <= before
    fresh.close()
