"""The rules that every page is held to find what they are there to find."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

from tests.walks.accessibility import complaints_about, faint, overflow, problems, small


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<p id=p>Read me</p>", 0),
        ("<p id=p class=grey>Read me</p>", 1),
        ("<p id=p class=grey hidden>Read me</p>", 0),
        ("<p id=p class='grey large'>Read me</p>", 0),
        ("<div class=glass><p id=p class=white>Read me</p></div>", 1),
    ],
)
def test_faint_text_is_found(page: Page, html: str, found: int) -> None:
    page.set_content(
        "<style>body { background: white; color: black } .grey { color: oklch(0.6 0 0) } .white { color: white }"
        f" .large {{ font-size: 24px }} .glass {{ background: rgb(0 0 0 / 0.3) }}</style>{html}"
    )
    assert len(faint(page)) == found


def test_small_controls_are_found(page: Page) -> None:
    page.set_content(
        "<style>button { width: 40px; height: 24px; padding: 0 } .low { height: 20px }</style>"
        "<button>A</button><button class=low>B</button><label>C <input type=checkbox></label>"
    )
    assert [said.split(":")[0] for said in small(page) if "button" in said] == ["40 by 20"]


def test_what_is_wider_than_the_window_is_found(page: Page) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.set_content("<style>body { margin: 0 } div { width: 400px }</style><div>Wide</div>")
    assert overflow(page) == 10


def test_what_has_no_name_is_found(page: Page) -> None:
    page.set_content("<main><h1>One</h1><h3>Three</h3><button></button></main>")
    said = " ".join(problems(page))
    assert "has no name: <button>" in said
    assert "skips from level 1" in said
    assert complaints_about(page) == [overflow(page), problems(page), faint(page), small(page)]
