"""Who writes an environment of their own has its types checked against ours."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import gem

ROOT = Path(__file__).parents[2]

MINE = """
from collections.abc import Sequence
from typing import Any

import gem
from gem.agents import Decision, Request, make_agent
from gem.core import EnvWrapper, Info, State, Step
from gem.rollout import EpisodeRequest, rollout
from gem.tools import BaseTool, register_tool
from gem.vector import AutoresetMode


class Mine(gem.Env):
    def __init__(self, size: int = 3, seed: int | None = None) -> None:
        super().__init__(seed)
        self.size = size

    def _start(self) -> tuple[str, Info]:
        return "Go.", {"suffix": "?"}

    def step(self, action: str) -> Step:
        return "Done.", 1.0, True, False, {"success": True}

    def get_state(self) -> State:
        return {"size": self.size}


class WrittenForGem(gem.Env):
    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed)
        return "Go.", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        return "Done.", 1.0, True, True, {}


class Louder(EnvWrapper):
    def step(self, action: str) -> Step:
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation.upper(), reward, terminated, truncated, info


class Count(BaseTool):
    name = "count"

    def run(self, text: str) -> str:
        return str(len(text))


class First:
    name = "first"

    def act(self, requests: Sequence[Request]) -> list[Decision]:
        return [Decision("a") for _ in requests]


register_tool("count", Count)
gem.register("own:Mine-v0", Mine, size=4, tools=["count"])
gem.register("own:Gem-v0", WrittenForGem, cost="slow")
observation, info = gem.make("own:Mine-v0", seed=3).reset()
vector = gem.make_vec(
    ["own:Mine-v0"] * 2,
    wrappers=[Louder, *gem.wrappers.get_wrapper_fns("concat")],
    vec_kwargs=[{"size": 2}] * 2,
    async_mode="threads",
    autoreset_mode=AutoresetMode.SAME_STEP,
)
observations, rewards, terminated, truncated, infos = vector.step(["a", "b"])
ended = (terminated | truncated).any()
total = sum(record.total_reward for record in rollout(First(), [EpisodeRequest(0, "own:Mine-v0", seed=1)]))
total += len(list(gem.rollout.rollout(make_agent("random"), [EpisodeRequest(0, "own:Gem-v0", seed=1)])))
try:
    gem.make("no such")
except gem.errors.UnknownEnvironment as error:
    print(error, gem.core.EnvWrapper, gem.registry.specs()[0].id)
"""
WRONG = """
import gem

gem.maek("own:Mine-v0")
gem.register("own:Mine-v0", "a:A", replay="exactly")
reward: str = gem.make("own:Mine-v0").step("a")[1]
"""


def test_a_module_of_ones_own_passes_strict_and_mistakes_are_found(tmp_path: Path) -> None:
    pytest.importorskip("mypy", reason="mypy is not installed; the dev group has it")
    (tmp_path / "mine.py").write_text(MINE, "utf-8")
    (tmp_path / "wrong.py").write_text(WRONG, "utf-8")
    options = ["--strict", "--config-file=", f"--cache-dir={os.devnull}"]
    options.append("--follow-imports=silent")  # bodies of an installed package are not checked again
    command = [sys.executable, "-m", "mypy", *options, "mine.py", "wrong.py"]
    env = {**os.environ, "MYPYPATH": str(ROOT)}
    said = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False).stdout
    places = [line.rpartition("[")[0].partition(": error:")[0] for line in said.splitlines() if ": error:" in line]
    assert places == ["wrong.py:4", "wrong.py:5", "wrong.py:6"], said


def test_the_package_says_that_it_has_types() -> None:
    assert (Path(gem.__file__).parent / "py.typed").is_file()


def test_every_lazy_name_is_an_attribute_that_type_checkers_and_completion_know() -> None:
    tree = ast.parse(Path(gem.__file__).read_text("utf-8"))
    [imports] = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1]
    assert [name.name for name in imports.names] == list(gem.LAZY_MODULES)
    for name in (*gem.LAZY_MODULES, *gem.LAZY_FUNCTIONS):
        assert getattr(gem, name)
        assert name in dir(gem)
    folder = Path(gem.__file__).parent
    assert all((folder / f"{part}.py").is_file() or (folder / part).is_dir() for part in gem.LAZY_MODULES)
