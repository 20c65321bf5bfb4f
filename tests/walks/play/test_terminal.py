"""The shell and the web shop in the browser: typed commands that a worker runs, a search field, links and options."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from gem.sandbox.shell import obstacle
from tests.walks.conftest import check_looks
from tests.walks.page_rules import violations
from tests.walks.play.beginning import begin

SHELL = "terminal:Shell-v0-easy"
SHOP = "shop:WebShop-v0-hard"
sandboxed = pytest.mark.skipif(bool(obstacle()), reason=obstacle() or "there is a sandbox")


def type_command(page: Page, command: str) -> None:
    page.get_by_label("Action").fill(command)
    page.get_by_label("Action").press("Enter")


@sandboxed
def test_a_command_is_accepted_at_once_and_its_output_comes_by_itself(
    page: Page, second_page: Callable[[], Page]
) -> None:
    begin(page, SHELL)
    watcher = second_page()
    watcher.goto(page.url)
    type_command(page, "sleep 2; printf '\\033[32mgreen\\033[0m\\n'; mkdir d; cd d")
    expect(page.locator("#scoreline")).to_contain_text("Turn 1 is being played")
    expect(page.locator("#board .screen")).to_contain_text("running…")
    expect(watcher.locator("#board .screen")).to_contain_text("running…")
    for each in (page, watcher):
        expect(each.locator("#board .screen .fg-2")).to_have_text("green")
        expect(each.locator("#board .screen")).to_contain_text("agent:~/d$")
    expect(page.locator("#scoreline")).to_contain_text("Your turn")
    type_command(page, "pwd")
    expect(page.locator("#board .screen")).to_contain_text("/home/agent/d")
    expect(page.locator("#turns li")).to_have_count(2)
    page.get_by_role("button", name="Hand in").click()
    expect(page.locator("#end")).to_contain_text("Not solved")
    expect(page.locator("#board .notes")).to_contain_text("✗")
    page.get_by_role("link", name="Replay").click()
    page.get_by_role("link", name="Previous turn").click()
    expect(page.locator("#board .screen")).to_contain_text("/home/agent/d")


@sandboxed
def test_an_agent_works_in_a_shell_live(page: Page) -> None:
    page.goto(f"/play/watch/new/?env_id={SHELL}&agent=random&seed=3&pace=0.25")
    page.get_by_role("main").get_by_role("button", name="Watch").click()
    expect(page.locator(".screen .command").first).to_be_visible()


@sandboxed
def test_a_terminal_looks_right_everywhere(page: Page) -> None:
    begin(page, SHELL)
    for command in (
        "seq 1 20",
        "ls -la --color=always",
        "nosuchcommand",
        "for i in 1 2 3; do printf '\\033[3%dmcolor %d\\033[0m ' $i $i; done",
    ):
        number = page.locator("#turns li").count()
        type_command(page, command)
        expect(page.locator("#turns li")).to_have_count(number + 1)
    check_looks(page)
    page.goto("/play/watch/")
    expect(page.locator(".screen", has_text="color 3")).to_be_visible()  # others may be watched as well
    assert not violations(page)


def test_words_are_searched_for_and_options_chosen_by_mouse_and_keyboard(page: Page) -> None:
    begin(page, SHOP)
    type_command(page, "bed sheet")
    expect(page.locator("#t1 code")).to_have_text("search[bed sheet]")
    product = page.locator(".page-of-links li[data-noted] button").first
    product.click()
    expect(page.locator(".page-of-links [aria-pressed]").first).to_be_visible()
    option = page.locator(".page-of-links [aria-pressed]").first
    option.focus()
    page.keyboard.press("Enter")
    expect(page.locator(".page-of-links [aria-pressed=true]")).to_have_count(1)
    check_looks(page)
    number = page.locator("#turns li").count()
    page.get_by_role("button", name="< Prev").click()
    expect(page.locator("#turns li")).to_have_count(number + 1)
    check_looks(page)
    page.get_by_role("button", name="Back to Search").click()
    expect(page.get_by_role("button", name="Lighting")).to_be_visible()
    check_looks(page)
    for _ in range(8):
        if page.locator("#end section").count():
            break
        number = page.locator("#turns li").count()
        page.get_by_role("link", name="Hint").click()
        page.get_by_role("button", name="Do it").click()
        expect(page.locator("#turns li")).to_have_count(number + 1)
    expect(page.locator("#end")).to_contain_text("Return")
