"""Which process gets which file, and when.

The last process takes the tests with a browser. Of four, the one before it takes those that wait for processes of the
site, and the others take the rest: where one of them waits for a page or a server, another one computes. A process that
has nothing left helps the others, and with the browser last: a browser's event loop stays in its thread, where no other
one can run.

Reading all tests takes ten seconds of a core and more. So where all are asked for, the last two read only what they
take, and the one that takes those that wait also those of the apps, with which it helps.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from xdist.scheduler import LoadFileScheduling

from tests import services

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

Kind = Literal["walks", "waits", "rest"]
FOLDERS: dict[Kind, tuple[str, ...]] = {"walks": ("walks", "live"), "waits": ("platform", "workers", "live")}
"""Where the tests of a kind are, below `tests`."""
HELPS_IN: dict[Kind, tuple[str, ...]] = {"waits": ("apps",)}
"""Where a process that takes a kind of tests helps when it has none of these left, besides what all can do."""
STACKS = {
    f"tests/platform/test_{name}.py"
    for name in ("api_page", "backup", "client", "dying", "refusals", "starting", "tutorials")
}
"""Files whose tests look at running stacks: they go to one process, which starts two."""
TORCH = ("tests/engine/training/", "tests/examples/")
"""Folders whose tests go to one process, which imports PyTorch and starts one that trainings are forked from."""
LONG = (
    *("tests/platform", "tests/workers", "tests/live", "tests/examples", "tests/engine/training", "tests/engine"),
    *("tests/walks/test_hostile_texts", "tests/walks/jobs", "tests/walks/watch"),
    *("tests/walks/agents", "tests/walks/play"),
)
"""Folders and files that take longest come first, so that no process has one left when the others have finished."""
WALKS = ("tests/walks/", "tests/live/test_pages.py")
"""The files that drive a browser."""
WORTH_A_SITE = 4
"""So many files with a browser have to be left before one more process starts a site and a browser for them."""


def kind_of(name: str) -> Kind:
    """What a file does, or a test of this id: whether it drives a browser, waits for processes, or neither."""
    if name.startswith(WALKS):
        return "walks"
    folders = tuple(f"tests/{folder}/" for folder in FOLDERS["waits"])
    return "waits" if name == "stacks" or name.startswith(folders) else "rest"


def turn(path: Path) -> int:
    """When the tests of a file are handed out."""
    name = path.relative_to(services.ROOT).as_posix() if path.is_relative_to(services.ROOT) else ""
    return next((number for number, folder in enumerate(LONG) if name.startswith(folder)), len(LONG))


def looks_at_stacks(path: Path | None) -> bool:
    """Whether the tests of a file look at running stacks."""
    return path is not None and path.relative_to(services.ROOT).as_posix() in STACKS


def taken_by(process: str, count: int) -> Kind:
    """What a process, such as "gw0", takes first."""
    if count >= 2 and process == f"gw{count - 1}":
        return "walks"
    return "waits" if count >= 4 and process == f"gw{count - 2}" else "rest"


def folders_to_read(config: pytest.Config) -> tuple[str, ...] | None:
    """Where this process looks for tests; None if it looks everywhere."""
    expression: str = config.option.markexpr
    if expression.startswith("walk"):
        return FOLDERS["walks"]
    if "walk" in expression or any(
        (config.invocation_params.dir / name).resolve() != services.ROOT / "tests" for name in config.args
    ):
        return None
    process, count = os.environ.get("PYTEST_XDIST_WORKER", ""), int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    kind = taken_by(process, count)
    return FOLDERS[kind] + HELPS_IN.get(kind, ()) if kind in FOLDERS else None


class Scheduling(LoadFileScheduling):
    """Hands out file by file, and together what shares something."""

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """Learn which tests a process has read; one that takes the place of another has read all."""
        if self._taken_by(node) == "rest":
            super().add_node_collection(node, collection)
        else:
            self.registered_collections[node] = list(collection)

    def remove_node(self, node: WorkerController) -> str | None:
        """Give the tests of a process that has ended to others, but for the one in which it crashed.

        pytest-xdist would run that one again, until no process is left.
        """
        assigned = self.assigned_work[node]
        crashed = next((name for tests in assigned.values() for name, is_done in tests.items() if not is_done), None)
        for scope, tests in list(assigned.items()):
            if crashed in tests:
                tests[crashed] = True
            if all(tests.values()):
                del assigned[scope]
        super().remove_node(node)
        return crashed

    def _check_nodes_have_same_collection(self) -> bool:
        every = self.registered_collections
        self.registered_collections = {node: names for node, names in every.items() if self._taken_by(node) == "rest"}
        is_same = super()._check_nodes_have_same_collection()
        self.registered_collections |= every  # the first of them is the list of all tests
        return is_same

    def _split_scope(self, nodeid: str) -> str:
        path = super()._split_scope(nodeid)
        return "stacks" if path in STACKS else "torch" if path.startswith(TORCH) else path

    def _assign_work_unit(self, node: WorkerController) -> None:
        scope = self._next_for(node)
        if scope is None:
            node.shutdown()
            return
        tests = self.assigned_work[node][scope] = self.workqueue.pop(scope)
        places = self._places(node)
        node.send_runtest_some([places[name] for name, is_done in tests.items() if not is_done])

    def _places(self, node: WorkerController) -> dict[str, int]:
        """Where each test is in the list of a process."""
        if node not in self._known_places:
            self._known_places[node] = {name: place for place, name in enumerate(self.registered_collections[node])}
        return self._known_places[node]

    @functools.cached_property
    def _known_places(self) -> dict[WorkerController, dict[str, int]]:
        return {}

    def _next_for(self, node: WorkerController) -> str | None:
        """What this process does next; nothing if the others finish sooner without it."""
        left: dict[Kind, list[str]] = {self._taken_by(node): [], "rest": [], "waits": [], "walks": []}
        for scope, tests in self.workqueue.items():
            if self._places(node).keys() >= tests.keys():
                left[kind_of(scope)].append(scope)
        if self._has_browser(node) and (left["walks"] or len(self.nodes) > 1):
            return next(iter(left["walks"]), None)
        is_begun = any(map(self._has_browser, self.nodes))
        if self._taken_by(node) != "walks" and is_begun and len(left["walks"]) < WORTH_A_SITE:
            left["walks"] = []
        return next((scopes[0] for scopes in left.values() if scopes), None)

    def _has_browser(self, node: WorkerController) -> bool:
        return any(kind_of(scope) == "walks" for scope in self.assigned_work[node])

    def _taken_by(self, node: WorkerController) -> Kind:
        return taken_by(node.gateway.id, self.numnodes)
