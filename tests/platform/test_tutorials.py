"""Every tutorial does what it says, typed line by line into a shell beside a running stack."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.docs.blocks import blocks
from tests.model_server import model_server
from tests.platform.api_access import environment
from tests.services import Stack

FOLDER = "docs/tutorials"
SECONDS = 300
SAYS = {
    "evaluate-an-endpoint": ("A difference of", "all episodes are done", "40 of 40 episodes identical"),
    "bring-your-agent": ("solved in", "all episodes are done"),
    "bring-your-trainer": ("The mean reward was ", "ten-preferences"),
    "host-a-leaderboard": ("Nothing is wrong with it.", "our-solver", "verified"),
}
"""What a reader sees on the way."""


@contextmanager
def _model() -> Iterator[Mapping[str, str]]:
    with model_server() as server:
        yield {"MODEL_URL": server.url, "MODEL": "bisect"}


@contextmanager
def _nothing() -> Iterator[Mapping[str, str]]:
    yield {}


PREPARED = {"evaluate-an-endpoint": _model}


def test_each_tutorial_is_known() -> None:
    assert {Path(block.page).stem for block in blocks("sh") if block.page.startswith(FOLDER)} == SAYS.keys()


@pytest.mark.long
@pytest.mark.parametrize("name", SAYS)
def test_it_does_what_it_says(name: str, stack: Stack, token: str, tmp_path: Path) -> None:
    settings, *scripts = [block.text for block in blocks("sh") if block.page == f"{FOLDER}/{name}.md"]
    assert all(line.startswith("export ") for line in settings.splitlines())
    with PREPARED.get(name, _nothing)() as variables:
        env = {**environment(stack, token, tmp_path / "config"), **variables}
        env.pop("GEM_OPENENV_ADDRESSES", None)  # what the settings of the site say in this process
        script = "\n".join(scripts).replace("YOU.", "ann.")
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", f"set -m\n{script}"], cwd=tmp_path, env=env, capture_output=True,
            text=True, check=False, timeout=SECONDS,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    for words in SAYS[name]:
        assert words in done.stdout + done.stderr, (words, done.stdout, done.stderr)
