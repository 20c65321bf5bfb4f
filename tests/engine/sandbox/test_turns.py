"""Programs of many people take turns: short ones do not wait for long ones, and a restart changes no verdict."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from gem.errors import EnvironmentFailure
from gem.grading.code import grade_code
from gem.grading.code_tests import InputTest
from gem.sandbox import Limits
from gem.sandbox.levels import choice
from gem.sandbox.turns import FairPool, within

ENDLESS = "import time\ntime.sleep(60)"
SLEEPY = "import time\nprint('a')\ntime.sleep(0.8)\nprint('b')"
LONG = Limits(wall_seconds=2)


@pytest.fixture
def pools() -> Iterator[Callable[[int], FairPool]]:
    """Makes pools of a size, and closes them."""
    made: list[FairPool] = []

    def make(size: int) -> FairPool:
        made.append(FairPool(choice().level, size))
        return made[-1]

    yield make
    for pool in made:
        pool.close()


def order_of_ends(*calls: Callable[[], object]) -> tuple[list[int], list[object]]:
    """Run calls in threads, each begun once the one before it has a sandbox or waits: the order of their ends."""
    ends: list[int] = []
    lock = threading.Lock()

    def run(number: int) -> object:
        result = calls[number]()
        with lock:
            ends.append(number)
        return result

    with ThreadPoolExecutor(len(calls)) as threads:
        futures: list[Future[object]] = [threads.submit(run, number) for number in range(len(calls))]
        return ends, [future.result() for future in futures]


def test_a_short_program_does_not_wait_for_long_ones(pools: Callable[[int], FairPool]) -> None:
    pool = pools(2)
    pool.run("1")
    ends, results = order_of_ends(
        *[lambda: pool.run(ENDLESS, limits=LONG).status] * 2, lambda: pool.run("print(7)").stdout
    )
    assert ends[0] == 2
    assert results == ["timeout", "timeout", "7\n"], "each long one has all its time in the end"


def test_a_program_that_had_to_yield_is_run_again_from_its_beginning(pools: Callable[[int], FairPool]) -> None:
    pool = pools(1)
    pool.run("1")
    _, results = order_of_ends(*[lambda: pool.run(SLEEPY).stdout] * 2)
    assert results == ["a\nb\n", "a\nb\n"]
    assert sum(sandbox.jobs for sandbox in pool._sandboxes) > 3, "one of them yielded"


def test_tests_of_a_program_that_had_to_yield_are_counted_once(pools: Callable[[int], FairPool]) -> None:
    pool = pools(1)
    pool.run("1")
    program = "import time\nn = int(input())\ntime.sleep(0.8 * (n == 3))\nprint(n)"
    tests = [InputTest(f"{number}\n", f"{number}\n") for number in range(6)]
    _, (grade, _) = order_of_ends(lambda: grade_code(program, tests, pool=pool), lambda: pool.run(SLEEPY))
    assert [test.status for test in grade.tests] == ["passed"] * 6  # type: ignore[attr-defined]


def test_programs_end_when_the_time_of_their_turn_is_over(pools: Callable[[int], FairPool]) -> None:
    pool = pools(1)
    with within(0.3), pytest.raises(EnvironmentFailure, match="did not end in time"):
        pool.run(ENDLESS)
    assert pool.run("print(1)").stdout == "1\n", "the sandbox can be used again"


def test_alone_a_program_runs_once(pools: Callable[[int], FairPool]) -> None:
    pool = pools(1)
    result = pool.run(SLEEPY)
    assert (result.status, result.stdout, pool.run("1").status) == ("ok", "a\nb\n", "ok")
    assert sum(sandbox.jobs for sandbox in pool._sandboxes) == 2
