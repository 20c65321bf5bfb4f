"""Somebody without a mouse, and somebody who hears the page: they play, submit, cancel and scrub by keys alone."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import ElementHandle, Locator, Page, expect

FINISH_MS = 60_000
STOPS = 80
"""Presses of Tab after which what is looked for is taken to be out of reach."""

_FOCUS = """
(wanted) => {
  const at = document.activeElement;
  const outlines = [getComputedStyle(at).outlineStyle, getComputedStyle(at, "::after").outlineStyle];
  const box = at.getBoundingClientRect();
  const isRinged = outlines.some((outline) => outline !== "none") || getComputedStyle(at).boxShadow !== "none";
  return {
    isThere: at === wanted,
    isGone: wanted !== null && !wanted.isConnected,
    isSeen: at === document.body || (isRinged && box.width > 0 && box.height > 0),
    html: at.outerHTML.slice(0, 160),
  };
}
"""
"""Where the focus is. One question for each press of a key: to look for an element by its role reads the whole page."""

_FIELDS = """
(form) => [...new Set([...form.elements]
  .filter((field) => field.name && field.type !== "hidden" && !field.disabled && field.checkVisibility())
  .map((field) => field.name))]
"""
"""The names of the fields that a person with a mouse can use; a group of radio buttons has one name."""


def fields_by_keys(page: Page, form: Locator) -> set[str]:
    """Go through a form from its first field by Tab, open what is folded by Enter, and return the names that it met."""
    form.locator("input:not([type=hidden])").first.focus()
    met: set[str] = set()
    element = form.element_handle()
    for _ in range(3 * STOPS):
        at = page.evaluate(
            "(form) => { const at = document.activeElement; return [form.contains(at), at.name || '',"
            " at.tagName === 'SUMMARY' && !at.parentElement.open]; }",
            element,
        )
        is_inside, name, is_folded = at
        if not is_inside:
            return met
        met.add(name)
        if is_folded:
            page.keyboard.press("Enter")
        press(page, "Tab")
    raise AssertionError(f"there is no way out of the form on {page.url}")


def tab_to(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """Press Tab, or another key, until the focus is on `wanted`; every stop on the way is seen."""
    element = wanted.first.element_handle()
    if page.evaluate(_FOCUS, element)["isThere"]:
        return
    for _ in range(STOPS):
        focus = press(page, key, element)
        if focus["isGone"]:  # a fragment of the page has been replaced
            element = wanted.first.element_handle()
            focus = page.evaluate(_FOCUS, element)
        if focus["isThere"]:
            return
    raise AssertionError(f"{wanted} was not reached in {STOPS} presses of Tab on {page.url}")


def press(page: Page, key: str, wanted: ElementHandle | None = None) -> dict[str, Any]:
    """Press a key, and return where the focus is then, which has to be seen."""
    page.keyboard.press(key)
    focus: dict[str, Any] = page.evaluate(_FOCUS, wanted)
    assert focus["isSeen"], f"the focus is not seen on {focus['html']}"
    return focus


def focus_is_kept(page: Page) -> None:
    """The focus is on something, not on the page as a whole."""
    page.wait_for_function("document.activeElement !== document.body")


def test_an_episode_is_begun_played_and_begun_again(page: Page) -> None:
    page.goto("/play/new/?env_id=game:GuessTheNumber-v0-easy&seed=7")
    tab_to(page, page.get_by_role("main").get_by_role("button", name="Play", exact=True))
    page.keyboard.press("Enter")
    expect(page.locator("#board")).to_be_visible()
    expect(page.locator("[data-live]")).to_be_attached()
    page.keyboard.press("ArrowRight")  # the first arrow goes to the board
    for _ in range(10):
        before = page.locator("#turns li").count()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        expect(page.locator("#turns li")).to_have_count(before + 1)
        focus_is_kept(page)
        if page.locator("#end section").count():
            break
    expect(page.get_by_role("region", name="The end")).to_be_focused()
    tab_to(page, page.get_by_role("button", name="Play a new seed"))
    page.keyboard.press("Enter")
    expect(page.locator("#turns li")).to_have_count(0)


def test_the_field_keeps_the_focus_and_the_end_takes_it(page: Page) -> None:
    page.goto("/play/new/?env_id=game:GuessTheNumber-v0-easy&seed=7")
    page.get_by_role("main").get_by_role("button", name="Play", exact=True).press("Enter")
    expect(page.locator("[data-live]")).to_be_attached()
    tab_to(page, page.get_by_label("Action"))
    page.keyboard.type("\\boxed{0}")  # not one of the numbers
    page.keyboard.press("Enter")
    expect(page.locator("#turns li")).to_have_count(1)
    focus_is_kept(page)
    if not page.locator("#end section").count():
        expect(page.get_by_label("Action")).to_be_focused()


def test_what_a_screen_reader_hears(page: Page) -> None:
    page.goto("/play/new/?env_id=game:GuessTheNumber-v0-easy&seed=7")
    page.get_by_role("main").get_by_role("button", name="Play", exact=True).press("Enter")
    expect(page.locator("[data-live]")).to_be_attached()
    expect(page.get_by_role("grid")).to_have_accessible_name(re.compile("10.* Arrow keys move, Enter acts"))
    expect(page.get_by_role("gridcell").first).to_have_accessible_name("1: possible")
    heard = page.get_by_role("log")
    page.get_by_role("gridcell", name="1: possible").focus()
    page.keyboard.press("Enter")
    expect(heard).to_contain_text(re.compile(r"Reward [\s\S]*(Your turn\.|The episode is over\.\s+Solved\.)"))
    expect(page.get_by_role("gridcell").first).not_to_have_accessible_name("1: possible")
    for _ in range(4):
        if page.locator("#end section").count():
            break
        turns = page.locator("#turns li").count()
        page.get_by_role("link", name="Hint").press("Enter")
        page.get_by_role("button", name="Do it").press("Enter")
        expect(page.locator("#turns li")).to_have_count(turns + 1)
    expect(heard).to_contain_text(re.compile(r"The episode is over\.\s+(Solved|Not solved)"))
    expect(page.get_by_role("grid")).to_have_count(0)
    expect(page.locator("#board .board")).to_match_aria_snapshot("- img")


def test_a_job_is_submitted_and_cancelled_through_its_dialog(logged_in: Page, slow_agent: str) -> None:
    page = logged_in
    page.set_default_timeout(FINISH_MS)
    what = "benchmark=&env_id=game:GuessTheNumber-v0-hard&episodes_per_env=500&num_envs=4"
    page.goto(f"/jobs/new/?agent={slow_agent}&{what}")
    tab_to(page, page.get_by_role("button", name="Remove game:GuessTheNumber-v0-hard"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("No environment is chosen yet.")).to_be_visible()
    tab_to(page, page.get_by_label("Search environments", exact=True))
    page.keyboard.type("guessthenumber-v0-hard")
    add = page.get_by_role("button", name="game:GuessTheNumber-v0-hard", exact=True)
    expect(add).to_have_attribute("aria-pressed", "false")
    tab_to(page, add)
    page.keyboard.press("Enter")
    expect(add).to_have_attribute("aria-pressed", "true")
    expect(add).to_be_focused()
    form = page.locator("#evaluate")
    met = fields_by_keys(page, form)
    assert met >= set(form.evaluate(_FIELDS)), "every field is reached, also those that were folded"
    assert len(met) > 20
    tab_to(page, page.get_by_role("button", name="Submit evaluation"), "Shift+Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#state")).to_contain_text(re.compile("queued|running"), timeout=FINISH_MS)
    opener = page.get_by_role("button", name="Cancel job").first
    tab_to(page, opener)
    page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(opener).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, dialog.get_by_role("button", name="Cancel job"))
    page.keyboard.press("Enter")
    expect(page.locator("#state")).to_contain_text("cancelled", timeout=FINISH_MS)


def test_a_replay_is_scrubbed(page: Page) -> None:
    page.goto("/episodes/?source=all&outcome=won")
    page.locator("main tbody a[href^='/episodes/']").first.press("Enter")
    page.wait_for_load_state()
    scrubber = page.get_by_role("slider", name="Turn")
    last = scrubber.get_attribute("max")
    tab_to(page, scrubber)
    page.keyboard.press("Home")
    expect(page.locator(".scrub [data-player-at]")).to_have_text("0")
    expect(scrubber).to_have_attribute("aria-valuetext", f"turn 0 of {last}")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".scrub [data-player-at]")).to_have_text("1")
    expect(scrubber).to_be_focused()
    tab_to(page, page.get_by_role("combobox", name="Speed"))
    tab_to(page, scrubber, "Shift+Tab")
    expect(scrubber).to_have_attribute("aria-valuetext", f"turn 1 of {last}")
