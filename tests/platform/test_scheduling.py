"""Which process of a test run gets which file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.scheduling import HELPS_IN, WORTH_A_SITE, Scheduling, kind_of, taken_by

REST = [f"tests/apps/test_{name}.py::test_{number}" for name in "abcdef" for number in range(3)]
WAITS = [f"tests/workers/test_{name}.py::test_{number}" for name in "abcd" for number in range(3)]


def walks(files: int) -> list[str]:
    return [f"tests/walks/test_{name}.py::test_{number}" for name in range(files) for number in range(4)]


class Process:
    """One that runs what it is handed, in order."""

    def __init__(self, number: int, tests: list[str]) -> None:
        self.gateway = SimpleNamespace(id=f"gw{number}")
        self.tests, self.waiting, self.done = tests, list[str](), list[str]()
        self.shutting_down = False

    def send_runtest_some(self, places: list[int]) -> None:
        assert not self.shutting_down
        self.waiting += [self.tests[place] for place in places]

    def shutdown(self) -> None:
        self.shutting_down = True


def processes_for(count: int, *kinds: list[str]) -> list[Process]:
    """So many processes, each of which has read what it is for."""
    every = [test for tests in kinds for test in tests]
    found = []
    for number in range(count):
        kind = taken_by(f"gw{number}", count)
        also = tuple(f"tests/{folder}/" for folder in HELPS_IN.get(kind, ()))
        own = [test for test in every if kind_of(test) == kind or test.startswith(also)]
        found.append(Process(number, every if kind == "rest" else own))
    return found


def scheduled(processes: list[Process]) -> Scheduling:
    config: Any = SimpleNamespace(
        getvalue=lambda _: [f"{len(processes)}*popen"], option=SimpleNamespace(loadscopereorder=False)
    )
    scheduling = Scheduling(config)
    for process in processes:
        scheduling.add_node(process)  # type: ignore[arg-type]
    for process in reversed(processes):  # whoever reads few tests is ready first
        scheduling.add_node_collection(process, process.tests)  # type: ignore[arg-type]
    scheduling.schedule()
    return scheduling


def run(processes: list[Process], paces: list[int]) -> None:
    """Let each process run so many tests in each round, until nothing is left; a process keeps its last one."""
    scheduling = scheduled(processes)
    while any(process.waiting for process in processes):
        for process, pace in zip(processes, paces, strict=True):
            for _ in range(min(pace, len(process.waiting) - (not process.shutting_down))):
                process.done.append(process.waiting.pop(0))
                scheduling.mark_test_complete(process, process.tests.index(process.done[-1]))  # type: ignore[arg-type]
    assert scheduling.tests_finished


@pytest.mark.parametrize(
    "paces",
    [[1], [1, 1], [9, 1], [1, 1, 1], [9, 9, 1], [1, 1, 9], [1, 1, 1, 1], [9, 9, 1, 1], [1, 1, 9, 9], [9, 1, 1, 9]],
    ids=str,
)
@pytest.mark.parametrize("files", [0, 1, 9])
def test_every_test_runs_once_and_nothing_after_a_browser_but_what_has_one(files: int, paces: list[int]) -> None:
    processes = processes_for(len(paces), REST, WAITS, walks(files))
    run(processes, paces)
    assert sorted(test for process in processes for test in process.done) == sorted([*REST, *WAITS, *walks(files)])
    for process in processes:
        with_browser = [kind_of(test) == "walks" for test in process.done]
        assert with_browser == sorted(with_browser)


def test_others_help_with_a_browser_only_where_much_is_left() -> None:
    for files, helps in ((3 * WORTH_A_SITE, True), (WORTH_A_SITE, False)):
        processes = processes_for(2, REST, walks(files))
        run(processes, [9, 1])
        assert any(kind_of(test) == "walks" for test in processes[0].done) is helps


def test_who_waits_for_processes_helps_with_the_apps_afterwards() -> None:
    more = [f"tests/apps/test_{name}.py::test_{number}" for name in "ghijklm" for number in range(3)]
    processes = processes_for(4, [*REST, *more], WAITS, walks(9))
    run(processes, [1, 1, 9, 1])
    kinds = [kind_of(test) for test in processes[2].done]
    assert kinds[: len(WAITS)] == ["waits"] * len(WAITS)
    assert "rest" in kinds


def test_where_a_process_crashed_is_not_run_again_and_the_rest_goes_to_another() -> None:
    processes = [Process(number, REST) for number in range(2)]
    scheduling = scheduled(processes)
    lost, other = processes
    crashed = lost.waiting[0]
    assert scheduling.remove_node(lost) == crashed  # type: ignore[arg-type]
    while other.waiting:
        other.done.append(other.waiting.pop(0))
        scheduling.mark_test_complete(other, other.tests.index(other.done[-1]))  # type: ignore[arg-type]
    assert sorted([crashed, *other.done]) == sorted(REST)
    assert scheduling.tests_finished
    assert scheduling.remove_node(other) is None  # type: ignore[arg-type]


def test_whoever_has_read_everything_helps_with_everything() -> None:
    for tests in (REST, WAITS, walks(3 * WORTH_A_SITE)):
        processes = [Process(number, tests) for number in range(4)]
        run(processes, [1, 1, 1, 1])
        assert all(process.done for process in processes)


def test_processes_that_have_read_other_tests_are_found() -> None:
    reports: list[Any] = []
    config: Any = SimpleNamespace(
        getvalue=lambda _: ["3*popen"],
        option=SimpleNamespace(loadscopereorder=False),
        hook=SimpleNamespace(pytest_collectreport=lambda *, report: reports.append(report)),
    )
    scheduling = Scheduling(config)
    for number, tests in enumerate((REST, REST[1:], walks(1))):
        process: Any = Process(number, tests)
        scheduling.add_node(process)
        scheduling.add_node_collection(process, tests)
    scheduling.schedule()
    assert reports
    assert scheduling.collection is None


def test_files_that_share_something_go_to_one_process() -> None:
    every = [
        "engine/training/test_c",
        "engine/test_d",
        "platform/test_client",
        "platform/test_audit",
        "live/test_pages",
    ]
    names = [f"tests/{name}.py" for name in every]
    scopes = list(map(scheduled([Process(0, names)])._split_scope, names))
    assert scopes == ["torch", names[1], "stacks", *names[3:]]
    assert list(map(kind_of, scopes)) == ["rest", "rest", "waits", "waits", "walks"]
