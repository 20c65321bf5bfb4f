"""A programming problem in the browser: the program is typed in lines, a worker judges it, every test is shown."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

import gem.sandbox
from tests.walks.conftest import check_looks
from tests.walks.play.beginning import begin

ENV_ID = "code:CodeContest"
pytestmark = pytest.mark.skipif(gem.sandbox.level() == "disabled", reason="no sandbox here")


def test_a_program_is_typed_sent_and_judged(page: Page) -> None:
    begin(page, ENV_ID)
    field = page.get_by_label("Program")
    expect(field).to_have_value("```python\n\n```")
    field.click()
    field.press_sequentially("x = input()")
    field.press("Enter")
    field.press_sequentially("print(x)")
    expect(field).to_have_value("```python\nx = input()\nprint(x)\n```")
    field.press("Control+Enter")
    tests = page.locator("#board .tests details")
    expect(tests).to_have_count(10)
    expect(tests.first).to_contain_text("Test 1: error")
    expect(tests.first).to_contain_text("EOFError: EOF when reading a line")
    expect(page.locator("#board details[open]")).to_have_count(1)
    tests.nth(3).locator("summary").click()
    expect(tests.nth(3)).to_contain_text("Expected")
    expect(page.locator("#board .editor pre")).to_have_text("x = input()\nprint(x)")
    expect(page.locator("#end")).to_contain_text("Not solved")
    check_looks(page)
    page.get_by_role("link", name="Replay").click()
    expect(page.locator("#board .tests details")).to_have_count(10)


def test_a_program_pasted_with_its_fences_takes_the_place_of_the_empty_ones(page: Page) -> None:
    begin(page, ENV_ID)
    field = page.get_by_label("Program")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    whole = "```python\nprint(1)\n```"
    page.evaluate("text => navigator.clipboard.writeText(text)", whole)
    field.click()
    field.press("Control+v")
    expect(field).to_have_value(whole)
    field.press("Control+v")
    expect(field).to_have_value(whole + whole)
