"""docs/add-an-environment.md, followed to the letter: the site plays the package by clicks."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import Page, expect

from tests.docs.tutorial import ENV_ID, install

if TYPE_CHECKING:
    from tests.walks.site import Site


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The tutorial's package."""
    return install(tmp_path_factory.mktemp("tutorial"))


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
    page.locator(".family h3").get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(ENV_ID)
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
