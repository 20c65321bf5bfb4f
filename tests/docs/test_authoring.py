"""docs/add-an-environment.md, followed to the letter: a package of one's own is checked and listed."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gem import plugins
from gem.registry import ENV_REGISTRY
from tests.docs.tutorial import ENV_ID, ROOT, block, install


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tutorial's package."""
    return install(tmp_path_factory.mktemp("tutorial"))


def test_the_command_line_checks_it(installed: Path) -> None:
    gemweb, *words = shlex.split(block("", "gemweb check"))
    assert gemweb == "gemweb"
    env = {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{installed}"}
    ran = subprocess.run(
        [sys.executable, "-m", "gem.cli", *words], env=env, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "WRONG" not in ran.stdout
    assert ran.stdout.count("ok ") >= 10


@pytest.fixture
def plugged_in(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Registered in this process by its entry point."""
    monkeypatch.syspath_prepend(installed)
    monkeypatch.setattr(plugins, "_are_installed_loaded", False)
    plugins.load_installed()
    yield
    for env_id in [env_id for env_id in ENV_REGISTRY if "CoinRow" in env_id]:
        del ENV_REGISTRY[env_id]
    sys.modules.pop("coin_row")


@pytest.mark.django_db
def test_it_is_listed_and_plays_through_the_web(plugged_in: None) -> None:
    from apps.episodes import operations
    from tests.apps.play.people import Person

    person = Person()
    listed = person.client.get("/environments/?q=coinrow").content.decode()
    assert all(f'href="/environments/{env_id}/"' in listed for env_id in (ENV_ID, f"{ENV_ID}-hard"))
    page = person.client.get(f"/environments/{ENV_ID}/").content.decode()
    assert "Take coins from the ends of a row" in page
    episode = person.begin(ENV_ID, 3)
    while not episode.over:
        assert person.send(episode, "\\boxed{left}").status_code == 200
        episode.refresh_from_db()
    assert episode.turn_count == 4
    assert operations.verify(episode) is None
