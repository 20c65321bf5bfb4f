"""docs/add-an-environment.md, followed to the letter: a package of one's own is checked, listed and played."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from gem import registry
from gem.registry import ENV_REGISTRY

if TYPE_CHECKING:
    from tests.walks.site import Site

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "add-an-environment.md").read_text("utf-8")
ENV_ID = "game:CoinRow-v0"


def block(language: str, having: str) -> str:
    """The code block of the tutorial in which these words stand."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    found = [text for written_in, text in blocks if written_in == language and having in text]
    assert len(found) == 1, having
    return str(found[0])


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tutorial's package, written and installed as it says, but into a folder of its own."""
    package, target = tmp_path_factory.mktemp("package"), tmp_path_factory.mktemp("installed")
    folder = package / "src" / "coin_row"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(block("python", "class CoinRow"), "utf-8")
    (package / "pyproject.toml").write_text(block("toml", "gem.environments"), "utf-8")
    uv, *words = shlex.split(block("", "uv pip install"))
    words = [str(ROOT / ".venv") if word == ".venv" else word for word in words]
    subprocess.run([ROOT / uv, *words, "--offline", "--target", target], cwd=package, check=True)
    return target


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
    monkeypatch.setattr(registry, "_plugins_loaded", False)
    registry.load_plugins()
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
    assert all(f">{env_id}<" in listed for env_id in (ENV_ID, f"{ENV_ID}-hard"))
    page = person.client.get(f"/environments/{ENV_ID}/").content.decode()
    assert "Take coins from the ends of a row" in page
    episode = person.begin(ENV_ID, 3)
    while not episode.over:
        assert person.send(episode, "\\boxed{left}").status_code == 200
        episode.refresh_from_db()
    assert episode.turn_count == 4
    assert operations.verify(episode) is None


@pytest.fixture
def site_with_it(site: Site, installed: Path) -> Iterator[None]:
    """The walks' site, its web process restarted with the package installed."""

    def restart() -> None:
        site.kill("web")
        site.start_web()
        site.wait()

    before = site.env.get("PYTHONPATH", "")
    site.env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(installed), before]))
    restart()
    yield
    site.env["PYTHONPATH"] = before
    restart()


def test_it_plays_in_the_browser_by_clicks(site_with_it: None, page: Page) -> None:
    page.goto("/environments/?q=coinrow")
    expect(page.locator(".family h3")).to_have_text("CoinRow")
    page.get_by_role("link", name=ENV_ID, exact=True).click()
    expect(page.get_by_text("Works here")).to_be_visible()
    page.get_by_label("Seed").fill("3")
    page.get_by_role("main").get_by_role("button", name="Play").click()
    page.wait_for_url("**/episodes/**")
    for left in (7, 6, 5):
        page.locator("#board button").first.click()
        expect(page.locator("#board button, #board [role=gridcell]").first).to_be_visible()
        expect(page.locator("#board")).to_have_attribute("data-seq", re.compile(rf"^{8 - left}$"))
    page.locator("#board button").first.click()
    expect(page.get_by_role("main")).to_contain_text("the rest is worth")
