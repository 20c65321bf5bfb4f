"""Problems of datasets: a drawing, a formula as the answer, and what is said of it."""

from __future__ import annotations

from playwright.sync_api import Page, expect

import gem
from tests.walks.conftest import check_looks
from tests.walks.play.beginning import begin


def answer(page: Page, action: str) -> None:
    field = page.get_by_label("Action")
    field.fill(action)
    field.press("Enter")


def test_a_drawing_is_seen_and_a_formula_is_understood(page: Page) -> None:
    env = gem.make("math:Geometry3K", dataset="sample:geometry3k")
    env.reset(seed=0)
    begin(page, "math:Geometry3K", 0)
    drawing = page.locator("#board img")
    expect(drawing).to_have_count(1)
    assert drawing.evaluate("image => image.decode().then(() => image.naturalWidth)") == 320
    expect(page.locator("#board")).to_contain_text("the length of $AB$")
    check_looks(page)
    answer(page, f"\\boxed{{{env.problem['answer']} + 0}}")
    expect(page.locator("body")).to_contain_text("That is correct.")
    expect(page.locator("#board img")).to_have_count(1)


def test_an_answer_without_its_box_is_asked_about_first(page: Page, expected: list[str]) -> None:
    expected.append("status of 422")
    begin(page, "qa:NaturalQuestions", 1)
    answer(page, "Paris")
    expect(page.locator("body")).to_contain_text("The environment finds no action in this text")
    answer(page, "<answer>Atlantis</answer>")
    expect(page.locator("body")).to_contain_text("That is not correct. A correct answer:")
