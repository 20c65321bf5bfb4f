"""`gemweb submit --print`: the printed document, submitted as a file, is the same training."""

import json
from pathlib import Path
from typing import Any

import pytest

from gem.cli.server import submit
from gem.training import recipes
from gem.training.spec import read_spec
from tests.engine.cli.conftest import Run


class Trainings:
    """Stands for the trainings of a server: it completes what is submitted as `apps.api.routers.trainings` does."""

    def submit(self, recipe: str, spec: dict[str, Any], **own: Any) -> None:
        self.spec = read_spec({**(recipes.data(recipe) if recipe else {}), **spec})
        self.own = own


class Client:
    """Stands for the client of a server, as a context manager."""

    def __init__(self) -> None:
        self.trainings = Trainings()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        pass


@pytest.fixture
def trainings(monkeypatch: pytest.MonkeyPatch) -> Trainings:
    """What the command submits, in place of a server."""
    client = Client()
    monkeypatch.setattr(submit, "connect", lambda _url: client)
    monkeypatch.setattr(submit, "_report", lambda *_, **__: 0)
    return client.trainings


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--set", "seed=3"],
        ["--set", "updates=2", "--name", "two updates", "--visibility", "private", "--evaluate-best"],
    ],
)
def test_the_printed_document_is_the_training_of_the_options(
    run: Run, tmp_path: Path, trainings: Trainings, options: list[str]
) -> None:
    assert run("submit", "--recipe", "guess-easy", *options).code == 0
    spec, own = trainings.spec, trainings.own
    code, printed, err = run("submit", "--recipe", "guess-easy", *options, "--print")
    assert (code, err) == (0, "")
    file = tmp_path / "training.json"
    file.write_text(printed, "utf-8")
    assert run("submit", file).code == 0
    assert (trainings.spec, trainings.own) == (spec, own)
    assert spec.recipe == "guess-easy"


def test_options_come_before_the_file(run: Run, tmp_path: Path, trainings: Trainings) -> None:
    file = tmp_path / "training.json"
    file.write_text(json.dumps({**recipes.data("guess-easy"), "name": "of the file", "visibility": "private"}), "utf-8")
    assert run("submit", file, "--set", "seed=7", "--name", "of the options").code == 0
    assert trainings.spec.seed == 7
    assert trainings.own == {"name": "of the options", "visibility": "private", "idempotency_key": None}


def test_an_unknown_recipe_is_not_printed(run: Run) -> None:
    code, out, err = run("submit", "--recipe", "guess-eazy", "--print")
    assert (code, out) == (2, "")
    assert "There is no recipe 'guess-eazy'. Did you mean guess-easy" in err
