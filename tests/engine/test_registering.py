"""Registering environments of one's own: what is refused in a sentence, what is defined again, and other packages'."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

import gem
from gem import plugins
from gem.envs.duels.tic_tac_toe import TicTacToe
from gem.envs.games.guess_the_number import GuessTheNumber
from gem.errors import InvalidArgument
from gem.registry import ENV_REGISTRY

ID = "own:Guess-v0"


@pytest.fixture(autouse=True)
def emptied() -> Iterator[None]:
    yield
    for env_id in [env_id for env_id in ENV_REGISTRY if env_id.startswith("own:")]:
        del ENV_REGISTRY[env_id]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("own:My game", GuessTheNumber), "'own:My game' cannot be an id: letters, digits and the signs"),
        (("own/game-v0", GuessTheNumber), "cannot be an id"),
        ((GuessTheNumber, "own:Guess-v0"), "cannot be an id"),
        ((ID, GuessTheNumber()), "give the class itself, a function that makes one"),
    ],
)
def test_what_cannot_be_registered_is_refused_at_once(arguments: tuple[Any, Any], sentence: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        gem.register(*arguments)
    assert sentence in str(refused.value)


@pytest.mark.parametrize(("name", "value"), [("replay", "exactly"), ("cost", "cheap"), ("turns", 1)])
def test_a_declaration_has_one_of_its_values(name: str, value: object) -> None:
    with pytest.raises(InvalidArgument, match=f"{name} is one of '"):
        gem.register(ID, GuessTheNumber, **{name: value})  # type: ignore[arg-type]


def test_registered_arguments_that_the_class_does_not_take_are_named() -> None:
    gem.register(ID, GuessTheNumber, max_nubmer=3)
    with pytest.raises(InvalidArgument, match=r"own:Guess-v0, as it is registered, .* Did you mean max_number"):
        gem.make(ID)


def test_several_seats_that_the_registration_does_not_mention_are_said() -> None:
    gem.register(ID, TicTacToe)
    with pytest.raises(InvalidArgument, match=r"own:Guess-v0 has 2 seats: .* seats=2"):
        gem.make(ID)
    with pytest.raises(InvalidArgument, match=r"has one seat, so nobody can sit in another\. .* seats=2"):
        gem.make(ID, opponent="random")
    gem.register("own:Two-v0", TicTacToe, seats=2)
    assert gem.make("own:Two-v0").seats == 2
    assert gem.make("own:Two-v0", opponent="random").seats == 1


def test_a_cell_of_a_notebook_may_run_twice_and_another_class_may_not_take_the_id() -> None:
    def cell(number: int) -> type[GuessTheNumber]:
        class Mine(GuessTheNumber):
            version = number

        gem.register(ID, Mine, max_turns=3)
        return Mine

    cell(1)
    again = cell(2)
    assert type(gem.make(ID)) is again
    gem.register(ID, again, max_turns=3)
    for other, turns in ((GuessTheNumber, 3), (again, 4)):
        with pytest.raises(InvalidArgument, match="is already registered"):
            gem.register(ID, other, max_turns=turns)


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """Two packages with environments, of which the first cannot be imported; the second takes its time."""
    (tmp_path / "own_broken.py").write_text("raise RuntimeError('half installed')", "utf-8")
    (tmp_path / "own_good.py").write_text(
        "import time, gem\ntime.sleep(0.2)\n"
        "assert gem.make('game:Wordle-v0')\n"
        "gem.register('own:Good-v0', 'gem.envs.games.wordle:Wordle')\n",
        "utf-8",
    )
    monkeypatch.syspath_prepend(tmp_path)
    found = [EntryPoint(name, name, plugins.ENTRY_POINTS) for name in ("own_broken", "own_good")]
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: found)
    monkeypatch.setattr(plugins, "_are_installed_loaded", False)
    yield tmp_path
    sys.modules.pop("own_good", None)


def test_a_package_that_cannot_be_imported_does_not_take_the_others_along(
    packages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        assert gem.make("game:Wordle-v0")
    assert "own_broken" in caplog.text
    assert "half installed" in caplog.text
    assert gem.make("own:Good-v0")


def test_threads_that_ask_first_wait_until_all_packages_are_there(packages: Path) -> None:
    outcomes: list[object] = []
    gate = threading.Barrier(4)

    def ask() -> None:
        gate.wait()
        try:
            outcomes.append(gem.make("own:Good-v0").reset(seed=1)[1]["suffix"])
        except Exception as error:  # noqa: BLE001 (what came of it is compared below)
            outcomes.append(error)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [gem.make("game:Wordle-v0").reset(seed=1)[1]["suffix"]] * 4
