"""`gemweb bench`: speed in words."""

import re

import pytest

import gem
from gem.registry import ENV_REGISTRY
from tests.engine.cli.conftest import Run

ENV_ID = "game:GuessTheNumber-v0-easy"


@pytest.mark.parametrize("backend", ["sync", "threads", "processes"])
def test_it_measures_every_kind_of_vector(run: Run, backend: str) -> None:
    code, out, err = run("bench", ENV_ID, "--envs", 4, "--backend", backend, "--seconds", 0.05)
    assert (code, err) == (0, "")
    assert out.startswith(f"{ENV_ID} with 4 environments, ")
    assert int(re.search(r"Steps: ([\d,]+) per second", out)[1].replace(",", "")) > 0
    assert int(re.search(r"Measured: ([\d,]+) steps", out)[1].replace(",", "")) % 4 == 0
    for line in ("First reset: ", "Later resets: median ", "One step of the whole vector: median "):
        assert re.search(rf"^{line}[\d.]+ (s|ms|µs)", out, re.MULTILINE), line


def test_episodes_that_end_begin_anew(run: Run) -> None:
    out = run("bench", "rg:letter_counting", "--envs", 2, "--seconds", 0.05).out
    steps = int(re.search(r"Measured: ([\d,]+) steps", out)[1].replace(",", ""))
    assert f"in which {steps:,} episodes ended" in out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["game:Nowhere-v0"], "No environment is registered"),
        ([ENV_ID, "--envs", "0"], "--envs must be at least 1"),
        ([ENV_ID, "--seconds", "0"], "--seconds above 0"),
        ([ENV_ID, "--backend", "gpu"], "invalid choice"),
    ],
)
def test_bad_input_is_answered_in_one_sentence(run: Run, arguments: list[str], sentence: str) -> None:
    code, out, err = run("bench", *arguments)
    assert (code, out) == (2, "")
    assert sentence in err
    assert len(err.splitlines()) == 1


@pytest.fixture
def needy():
    """An environment whose package is not here."""
    gem.register("test:Needy-v0", gem.spec(ENV_ID).entry_point, requires=["no-such-package"])
    yield "test:Needy-v0"
    del ENV_REGISTRY["test:Needy-v0"]


@pytest.mark.parametrize(
    "command", [["bench", "{}"], ["play", "{}"], ["eval", "--agent", "random", "--env", "{}", "--episodes", "2"]]
)
def test_what_is_missing_is_said_with_what_to_install(run: Run, needy: str, command: list[str]) -> None:
    code, out, err = run(*[part.format(needy) for part in command])
    assert (code, out) == (2, "")
    assert err.endswith("pip install no-such-package\n")
    assert len(err.splitlines()) == 1
