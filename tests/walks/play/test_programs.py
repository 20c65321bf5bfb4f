"""A programming problem in the browser: the program is typed in lines, a worker judges it, every test is shown."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

import gem.sandbox
from tests.walks.conftest import check_looks
from tests.walks.play.beginning import begin

ENV_ID = "code:CodeContest"
pytestmark = pytest.mark.skipif(gem.sandbox.level() == "disabled", reason="no sandbox here")


def test_a_program_is_typed_tried_sent_and_judged(page: Page) -> None:
    begin(page, ENV_ID, 3)  # a problem that shows an example
    editor, sent = page.get_by_role("textbox", name="Program"), page.get_by_label("Action", exact=True)
    editor.click()
    page.keyboard.type("for n in range(2):\nprint(n)")  # the colon indents, and brackets close themselves
    expect(sent).to_have_value("```python\nfor n in range(2):\n    print(n)\n```")
    page.keyboard.press("Control+a")
    page.keyboard.type("x = input()\nprint(x)")
    expect(editor.locator(".tok-variableName").first).to_be_visible()
    page.get_by_role("button", name="Trial run").click()
    expect(page.locator("#trial")).to_contain_text("of 1 passed")
    expect(page.locator("#turns li")).to_have_count(0)
    check_looks(page)
    editor.click()
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(editor).not_to_be_focused()
    editor.press("Control+Enter")
    tests = page.locator("#board .tests details")
    expect(tests).to_have_count(10)
    expect(tests.first).to_contain_text("Test 1: wrong answer")
    expect(page.locator("#board details[open]")).to_have_count(1)
    tests.nth(3).locator("summary").click()
    expect(tests.nth(3)).to_contain_text("Expected")
    expect(page.locator("#board .editor pre")).to_have_text("x = input()\nprint(x)")
    expect(page.locator("#end")).to_contain_text("Not solved")
    check_looks(page)
    page.get_by_role("link", name="Replay").click()
    expect(page.locator("#board .tests details")).to_have_count(10)


def test_a_program_pasted_with_its_fences_loses_them(page: Page) -> None:
    begin(page, ENV_ID)
    editor, sent = page.get_by_role("textbox", name="Program"), page.get_by_label("Action", exact=True)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    whole = "```python\nprint(1)\n```"
    page.evaluate("text => navigator.clipboard.writeText(text)", whole)
    editor.click()
    editor.press("Control+v")
    expect(editor).to_have_text("print(1)")
    expect(sent).to_have_value(whole)
