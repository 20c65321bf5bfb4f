"""What happens when processes of a stack are killed."""

import os
import signal
import time
from collections.abc import Callable

import psutil
import pytest

from tests.platform.conftest import Start
from tests.platform.test_starting import alive, children
from tests.services import Stack


def eventually(condition: Callable[[], bool], seconds: float = 60) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def answers(stack: Stack) -> bool:
    try:
        return stack.get("/")[0] == 200
    except OSError:
        return False


def started(start: Start) -> Stack:
    stack = start()
    assert stack.url
    stack.wait_for("Log in as the administrator")
    return stack


@pytest.mark.fault
def test_nothing_is_left_of_a_killed_stack_and_it_starts_again_at_once(start: Start) -> None:
    first = started(start)
    port = first.url.rpartition(":")[2]
    everything = children(first)
    assert len(everything) > 10
    first.kill()
    killed = time.monotonic()
    second = start(PORT=port)
    time.sleep(max(0.0, killed + 2 - time.monotonic()))
    assert alive(everything) == []
    assert second.get("/")[0] == 200


def test_a_killed_web_process_comes_back_and_visitors_only_wait(stack: Stack) -> None:
    os.kill(stack.pids()["web"], signal.SIGKILL)
    assert stack.get("/")[0] == 200
    assert stack.wait_for("web was ended by SIGKILL; starting it again")


def test_a_killed_worker_takes_its_children_along_and_comes_back(stack: Stack) -> None:
    before = stack.pids()["worker"]
    assert eventually(lambda: len(psutil.Process(before).children()) >= 2)
    pool = psutil.Process(before).children(recursive=True)
    os.kill(before, signal.SIGKILL)
    assert eventually(lambda: stack.pids()["worker"] != before)
    assert eventually(lambda: alive(pool) == [])


def test_a_scheduler_whose_clockwork_is_killed_starts_again(stack: Stack) -> None:
    """Its child sends the periodic tasks. Without it, nobody would search for lost work."""
    before = stack.pids()["scheduler"]
    assert eventually(lambda: len(psutil.Process(before).children()) == 1)
    (beat,) = psutil.Process(before).children()
    beat.kill()
    assert eventually(lambda: stack.pids()["scheduler"] != before)
    assert stack.wait_for("The process that sends periodic tasks has died (code -9)")
    assert eventually(lambda: len(psutil.Process(stack.pids()["scheduler"]).children()) == 1)


@pytest.mark.fault
def test_a_busy_pool_process_does_not_outlive_the_supervisor(start: Start) -> None:
    stack = started(start)
    worker = psutil.Process(stack.pids()["worker"])
    assert eventually(lambda: len(worker.children()) >= 2)
    everything = children(stack)
    for child in worker.children():
        child.suspend()  # as deaf to signals and closed pipes as a computation can be
    stack.kill()
    time.sleep(2)
    assert alive(everything) == []


@pytest.mark.fault
@pytest.mark.parametrize("server", ["postgres", "valkey"])
def test_a_killed_server_comes_back_and_so_does_the_page(start: Start, server: str) -> None:
    stack = started(start)
    os.kill(stack.pids()[server], signal.SIGKILL)
    assert stack.wait_for(f"{server} was ended by SIGKILL; starting it again")
    assert eventually(lambda: answers(stack))


@pytest.mark.fault
def test_a_killed_guard_does_not_stop_the_stack(start: Start) -> None:
    stack = started(start)
    guard = next(each for each in children(stack) if any("guard.py" in part for part in each.cmdline()))
    guard.kill()
    assert stack.get("/")[0] == 200
    stack.stop()
    assert stack.process.returncode == 0
