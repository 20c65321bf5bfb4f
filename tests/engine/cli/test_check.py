"""`gemweb check`: every promise of the contract is tried, and what is broken is named with what to do."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from gem import registry
from gem.check import PROMISES
from gem.check.arguments import hints
from gem.check.promise import Subject
from tests.engine.cli.conftest import Run

ROOT = Path(__file__).parents[3]

STATE = 'return {"row": list(self.row), "taken": list(self.taken)}'
TAKE = 'self.row, self.taken = list(state["row"]), list(state["taken"])'
DRAW = "self.row = [randint(self.rng, 1, 9) for _ in range(self.config.num_coins)]"
PLAY = "    def _play(self, match: str) -> PlayResult:\n"
VIEW = "    def view(self, seat: int = 0) -> GridView:\n"


def test_ours_keep_the_contract(run: Run) -> None:
    code, out, err = run("check", "game:GuessTheNumber-v0-random")
    assert (code, err) == (0, "")
    assert out.count("ok  ") == len(PROMISES)
    assert "The contract is kept." in out


def test_the_environment_of_the_tutorial_keeps_it_from_outside_our_tree(coin_row, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "gem.cli", "check", "game:CoinRow-v0", "--module", coin_row()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{len(PROMISES)} promises checked. The contract is kept." in done.stdout


@pytest.mark.parametrize(
    ("title", "said", "changes"),
    [
        ("It can be made.", "missing 1 required", [("num_coins: int = 8", "num_coins: int")]),
        (
            "reset(seed=...) begins an episode.",
            "ZeroDivisionError: division by zero (coin_row_outside.py, line",
            [(DRAW, f"1 / 0\n        {DRAW}")],
        ),
        (
            "reset(seed=...) begins an episode.",
            "cannot be written as JSON",
            [(VIEW, "    def _start(self):\n        return super()._start()[0], {'rng': self.rng}\n\n" + VIEW)],
        ),
        (
            "Random actions play it to its end.",
            "(coin_row_outside.py, line",
            [(PLAY, PLAY + "        self.row.index(99)\n")],
        ),
        (
            "Random actions play it to its end.",
            "It raised SystemExit: 3 (coin_row_outside.py, line",
            [(PLAY, PLAY + "        raise SystemExit(3)\n")],
        ),
        (
            "Random actions play it to its end.",
            "has the character '\\ud800', half of a surrogate pair, which UTF-8 has not.",
            [('return f"You took {coin}.", 0.0', 'return "\\ud800", 0.0')],
        ),
        (
            "Random actions play it to its end.",
            "after 4 random turns the episode of seed 0 still went on",
            [(VIEW, "    def step(self, action):\n        return 'on', 0.0, False, False, {}\n\n" + VIEW)],
        ),
        (
            "Turns before the first reset and after the end are refused.",
            "step() before the first reset() was accepted",
            [
                (
                    VIEW,
                    "    def step(self, action):\n"
                    "        if self.over:\n"
                    "            return 'over', 0.0, True, False, {'success': False}\n"
                    "        return super().step(action)\n\n" + VIEW,
                )
            ],
        ),
        (
            "Misspelt arguments and impossible seeds are refused.",
            "It accepted the unknown argument",
            [("seed: int | None = None) -> None:", "seed: int | None = None, **_: object) -> None:")],
        ),
        (
            "The same seed and actions give the same episode.",
            "global generator",
            [(DRAW, f"import random\n        {DRAW.replace('randint(self.rng, 1, 9)', 'random.randint(1, 9)')}")],
        ),
        (
            "The same seed and actions give the same episode.",
            "Seed 0 played twice: turn 0 has the info",
            [
                (
                    DRAW,
                    f"import time\n        {DRAW.replace('randint(self.rng, 1, 9)', 'time.perf_counter_ns() % 1000')}",
                )
            ],
        ),
        (
            "Other environments beside it change nothing.",
            "Seed 0 beside another environment",
            [
                (DRAW, f"{DRAW}\n        ROW[:] = self.row\n        self.row = ROW"),
                ("class CoinRow", "ROW = []\n\n\nclass CoinRow"),
            ],
        ),
        (
            "Other processes play the same episodes.",
            "Another process plays the same seeds differently.",
            [(DRAW, DRAW.replace("randint(self.rng, 1, 9)", "hash(str(randint(self.rng, 1, 9))) % 9"))],
        ),
        (
            "It goes on from its state at every turn.",
            "shows another picture",
            [(STATE, 'return {"row": list(self.row)}'), (TAKE, 'self.row, self.taken = list(state["row"]), []')],
        ),
        (
            "It goes on from its state at every turn.",
            "the state changed when an environment went on from it",
            [(TAKE, 'self.row, self.taken = state["row"], state["taken"]')],
        ),
        (
            "spawn() makes another one like it.",
            "NotImplementedError: CoinRow cannot spawn",
            [(VIEW, "    def spawn(self, **_):\n        raise NotImplementedError('CoinRow cannot spawn')\n\n" + VIEW)],
        ),
        (
            "Its random actions are understood.",
            "its own random action 'left' was not understood",
            [("return f\"\\\\boxed{{{choice(rng, ('left', 'right'))}}}\"", 'return choice(rng, ("left",))')],
        ),
        (
            "Asking for actions, pictures and states changes nothing.",
            "Seed 1, asked",
            [
                ("choice(rng, ('left', 'right'))", "choice(self.rng, ('left', 'right'))"),
                (PLAY, PLAY + "        self.row[0] += int(self.rng.random() * 1000)\n"),
            ],
        ),
        (
            "Its picture can be drawn at every turn.",
            "has the tone 'shiny'; there is hidden,",
            [('tone="tile"', 'tone="shiny"')],
        ),
        ("Its picture can be drawn at every turn.", "has no label", [('label=f"coin worth {coin}"', 'label=""')]),
        (
            "Its picture can be drawn at every turn.",
            "has 'colour', which nothing draws",
            [('tone="tile"', 'tone="tile", colour="red"')],
        ),
        (
            "Clicks and keys send actions that are understood.",
            "The picture offers 'left'",
            [('cells[0]["act"], cells[-1]["act"] = "\\\\boxed{left}"', 'cells[0]["act"], cells[-1]["act"] = "left"')],
        ),
    ],
)
def test_a_broken_promise_is_named(run: Run, coin_row, title: str, said: str, changes: list[tuple[str, str]]) -> None:
    code, out, err = run("check", "game:CoinRow-v0", "--module", coin_row(*changes))
    assert (code, err) == (1, "")
    lines = out.splitlines()
    place = lines.index(f"WRONG     {title}")
    assert said in lines[place + 1]
    assert lines[place + 2].strip().startswith("What to do: ")
    assert "broken" in lines[-1]


TAKEN = "def __init__(self, num_coins: int = 8, "
MORE = (TAKEN, f"{TAKEN}bonus: int = 0, ")
CONFIG = ("    num_coins: int\n", "    num_coins: int\n    bonus: int = 0\n")
REFUSAL = "        if bonus < 0:\n            raise InvalidArgument('bonus is at least 0')\n"
CHECKED = ("        self.config =", f"{REFUSAL}        self.config =")
PASSED = ("Config(num_coins)", "Config(num_coins, bonus)")


@pytest.mark.parametrize(
    "changes",
    [
        [MORE],
        [MORE, CHECKED],
        [MORE, ("self.row: list[int] = []", "self.row: list[int] = []\n        self._bonus = bonus")],
        [MORE, CONFIG, CHECKED, PASSED],
        [MORE, CONFIG, ("Config(num_coins)", "Config(num_coins, bonus=bonus)")],
    ],
    ids=["not used", "checked alone", "stored", "in the configuration", "by its name"],
)
def test_an_argument_that_does_nothing_is_found(coin_row, changes: list[tuple[str, str]]) -> None:
    import_module(coin_row(*changes))
    [hint] = hints(Subject("game:CoinRow-v0"))
    assert hint.detail == "Nothing reads bonus: every value gives the same environment."


def test_a_hint_breaks_nothing(run: Run, coin_row) -> None:
    code, out, err = run("check", "game:CoinRow-v0", "--module", coin_row(MORE))
    assert (code, err) == (0, "")
    assert "hint      Every argument has an effect.\n          Nothing reads bonus" in out
    assert f"{len(PROMISES)} promises checked. The contract is kept." in out
    data = json.loads(run("check", "game:CoinRow-v0", "--module", "coin_row_outside", "--json").out)
    assert (data["hints"], data["broken"]) == (1, 0)


@pytest.mark.parametrize(
    "changes",
    [
        [MORE, CONFIG, PASSED, (PLAY, f"{PLAY}        self.config.bonus\n")],
        [
            MORE,
            CONFIG,
            PASSED,
            (PLAY, f"{PLAY}        print(self.config)\n"),
        ],
        [MORE, ("self.taken: list[int] = []", "self.taken: list[int] = [] * bonus")],
        [MORE, ("self.row: list[int] = []", "self.row: list[int] = []\n        self.bonus = bonus")],
    ],
    ids=["read", "given away", "used at once", "for others to read"],
)
def test_an_argument_that_may_do_something_is_no_hint(coin_row, changes: list[tuple[str, str]]) -> None:
    import_module(coin_row(*changes))
    assert list(hints(Subject("game:CoinRow-v0"))) == []


def test_no_argument_of_ours_does_nothing() -> None:
    specs = [spec for spec in registry.specs() if spec.cost == "fast" and not spec.missing_packages()]
    ours = {factory: spec for spec in specs if (factory := spec.load()).__module__.startswith("gem.")}
    assert len(ours) > 10
    found = [hint.detail for spec in ours.values() for hint in hints(Subject(spec.id))]
    assert found == []


def test_what_an_environment_does_not_promise_is_left_out(run: Run, coin_row) -> None:
    module = coin_row(('CoinRow, cost="fast")', 'CoinRow, cost="fast", replay="taped")'))
    code, out, _ = run("check", "game:CoinRow-v0", "--module", module)
    assert code == 0
    assert "left out  It goes on from its state at every turn." in out
    assert "replay='taped'" in out


def test_every_promise_says_what_helps() -> None:
    assert len({promise.title for promise in PROMISES}) == len(PROMISES)
    assert all(promise.advice.endswith(".") and promise.title.endswith(".") for promise in PROMISES)


def test_a_server_is_not_checked_without_the_packages_that_reach_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    assert run("check", "openenv:http://127.0.0.1:9") == (
        2,
        "",
        "gemweb check: A check of a server needs the package aiohttp, which is not installed: pip install aiohttp\n",
    )
