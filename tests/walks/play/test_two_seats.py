"""Two people with a browser each, and one against an agent: whose turn it is, sealed rounds, talks, the end."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.walks.conftest import check_looks

TICTACTOE, KUHN, TALKS, DILEMMA = (
    "duel:TicTacToe-v0",
    "duel:KuhnPoker-v0",
    "duel:Negotiation-v0",
    "duel:PrisonersDilemma-v0",
)


def begin(page: Page, env_id: str, against: str, seat: str = "first") -> None:
    """Start an episode by the form."""
    page.goto(f"/play/new/?env_id={env_id}")
    page.get_by_label("Against").select_option(label=against)
    page.get_by_label("Your seat").select_option(label=seat)
    page.get_by_role("main").get_by_role("button", name="Play").click()
    expect(page.locator("#board")).to_be_visible()
    expect(page.locator("[data-live]")).to_be_attached()


def sit_down(page: Page, other: Page) -> None:
    """`other` opens the link that `page` offers, and takes the seat."""
    link = page.locator("#invite [data-copy]").get_attribute("data-copy")
    assert link
    other.goto(link)
    other.get_by_role("button", name="Take the seat").click()
    expect(other.locator("[data-live]")).to_be_attached()
    expect(page.locator("#invite")).to_be_empty()


def test_a_link_is_given_out_and_the_other_seat_waits(page: Page, second_page: Callable[[], Page]) -> None:
    begin(page, TICTACTOE, "another person, by link")
    expect(page.locator("#invite")).to_contain_text("The second seat is free")
    check_looks(page)
    other = second_page()
    other.goto(page.url)
    expect(other.locator("#invite")).to_have_count(0)
    other.goto(page.locator("#invite [data-copy]").get_attribute("data-copy") or "")
    expect(other.get_by_role("heading", name="You are invited to play")).to_be_visible()
    check_looks(other)


def both(page: Page, second_page: Callable[[], Page], env_id: str) -> tuple[Page, Page]:
    """Two people in the first and the second seat."""
    begin(page, env_id, "another person, by link")
    other = second_page()
    sit_down(page, other)
    return page, other


def expect_turn_of(own: Page, other: Page) -> None:
    """Each page says in words whose turn it is, and its title too."""
    expect(own).to_have_title(re.compile("^Your turn"))
    expect(other).to_have_title(re.compile("^Play"))
    expect(own.locator("#scoreline .seat[data-turn]")).to_have_text("Your turn")
    expect(other.locator("#scoreline")).to_contain_text("The other person's turn")


def test_two_people_meet_in_the_lobby_play_and_play_again(page: Page, second_page: Callable[[], Page]) -> None:
    begin(page, TICTACTOE, "anybody, from the lobby")
    first, second = page, second_page()
    second.goto("/play/watch/")
    check_looks(second)
    second.locator(f".invites li:has(:text('{TICTACTOE}'))").get_by_role("button", name="Play").first.click()
    expect(first.locator("#invite")).to_be_empty()
    second.goto("/play/watch/tv/")
    expect(second.locator("#tv-screen .board").first).to_be_visible()
    check_looks(second)
    second.goto(first.url)
    for turn, cell in enumerate((1, 4, 2, 5, 3)):
        mover, waiter = (first, second) if turn % 2 == 0 else (second, first)
        expect_turn_of(mover, waiter)
        expect(waiter.locator("#board button.cell")).to_have_count(0)
        mover.get_by_role("gridcell", name=f"Cell {cell}: empty").click()
        expect(waiter.locator(f"#t{turn + 1} code, #t{turn + 1} .by").first).to_be_attached()
    for one, words in ((first, "You won"), (second, "You lost")):
        expect(one.locator("#end")).to_contain_text(words)
        expect(one.locator("#scoreline")).to_contain_text("The first seat won")
        expect(one.locator("#turns code")).to_have_count(5)  # the other's actions are open now
    second.get_by_role("link", name="Replay").click()
    expect(second.get_by_role("navigation", name="Seen from")).to_be_visible()
    second.get_by_role("link", name="What spectators saw").click()
    expect(second.locator("[data-player-at]").first).to_have_text("5")
    check_looks(second)
    ended = first.url
    first.get_by_role("button", name="Rematch").click()
    expect(first.locator("#scoreline")).to_contain_text("The other person's turn")
    assert first.url != ended
    second.goto("/play/mine/")
    check_looks(second)
    second.get_by_role("link", name="Your turn").click()
    expect_turn_of(second, first)


def test_a_spectator_sees_the_turns_but_nothing_hidden(page: Page, second_page: Callable[[], Page]) -> None:
    first, second = both(page, second_page, KUHN)
    watcher = second_page()
    watcher.goto(first.url)
    expect(watcher.locator("#board .cell")).to_have_text(["?", "?"])
    for own, place in ((first, 0), (second, 1)):
        cells = own.locator("#board .cell").all_text_contents()
        assert [text == "?" for text in cells] == [place == 1, place == 0]
    first.keyboard.press("c")
    expect(second.locator("#scoreline .seat[data-turn]")).to_have_text("Your turn")
    expect(watcher.locator("#turns li")).to_have_count(1)
    expect(watcher.locator("#board .cell")).to_have_text(["?", "?"])
    second.keyboard.press("c")
    for one in (first, second, watcher):
        expect(one.locator("#end .callout")).to_be_visible()
        expect(one.locator("#board .cell").first).not_to_have_text("?")
    check_looks(watcher)


def test_a_round_is_sealed_until_both_have_chosen(page: Page, second_page: Callable[[], Page]) -> None:
    first, second = both(page, second_page, DILEMMA)
    first.get_by_role("button", name="betray").click()
    expect_turn_of(second, first)
    expect(second.locator("#board")).to_contain_text("The first player has chosen")
    expect(first.locator("#board")).to_contain_text("Your choice is sealed")
    assert "betray" not in (second.locator("#turns").text_content() or "")
    second.get_by_role("button", name="silent").click()
    for one in (first, second):
        expect(one.locator("#turns li").first).to_contain_text("the first player chose betray", ignore_case=True)
    second.get_by_role("button", name="silent").click()
    expect(second.locator("#scoreline")).to_contain_text("Your choice is sealed")
    expect(first.locator("#scoreline")).to_contain_text("has chosen")
    first.keyboard.press("s")
    for one in (first, second):
        expect(one.locator("#turns li")).to_have_count(4)
        expect(one.locator("#scoreline .seat[data-turn]")).to_have_text("Your turn")
    check_looks(first)


def test_two_people_talk_and_agree(page: Page, second_page: Callable[[], Page]) -> None:
    first, second = both(page, second_page, TALKS)
    first.get_by_label("Action").fill("Which kind matters {most} to you?")
    first.get_by_label("Action").press("Enter")
    expect(second.locator(".messages li").last).to_contain_text("Which kind matters (most) to you?")
    expect(second.locator(".messages li").last).to_have_attribute("data-side", "other")
    expect(first.locator(".messages li").last).to_have_attribute("data-side", "own")
    send = first.get_by_role("button", name="Send")
    expect(send).to_be_disabled()
    expect(send).to_have_accessible_description(re.compile("the other person's turn"))
    first.get_by_label("Action").fill("And what would you give up?")
    first.get_by_label("Action").press("Enter")
    expect(second.get_by_role("button", name="Send")).to_be_enabled()
    for number in ("0", "0", "1"):
        second.get_by_role("button", name=f"take {number}").click()
    expect(send).to_be_enabled()
    expect(first.get_by_label("Action")).to_have_value("And what would you give up?")
    expect(first.locator("#turns li")).to_have_count(2)
    first.get_by_role("button", name="accept the last proposal").click()
    for one in (first, second):
        expect(one.locator("#end .callout")).to_be_visible()
    check_looks(first)


def test_an_agent_answers_and_the_page_says_when(page: Page) -> None:
    begin(page, TICTACTOE, "expert", "second")
    expect(page.locator("#scoreline .seat[data-turn]")).to_have_text("Your turn")
    expect(page.locator("#turns li")).to_have_count(1)
    page.get_by_role("gridcell", name=re.compile("empty$")).first.click()
    expect(page.locator("#turns li")).to_have_count(3)
    expect(page.locator("#scoreline .seat[data-turn]")).to_have_text("Your turn")
    check_looks(page)


@pytest.mark.parametrize("env_id", [TALKS, "duel:ConnectFour-v0"])
def test_two_agents_play_and_everybody_watches(page: Page, env_id: str) -> None:
    page.goto(f"/play/watch/new/?env_id={env_id}")
    page.get_by_label("Second seat").select_option(label="random")
    page.get_by_label("Pace").select_option(label="4 turns per second")
    page.get_by_role("button", name="Watch").click()
    expect(page.locator("h1")).to_contain_text("expert and random play")
    expect(page.locator("#turns li").nth(1)).to_be_attached()  # random may accept the first proposal
    check_looks(page)
    expect(page.locator("#end .callout")).to_be_visible(timeout=60_000)


def test_the_form_asks_for_seats_only_where_there_are_several(page: Page) -> None:
    page.goto("/play/new/?env_id=game:Wordle-v0-easy")
    expect(page.get_by_label("Against")).to_have_count(0)
    page.get_by_label("Environment", exact=True).fill(TICTACTOE)
    page.keyboard.press("Tab")
    expect(page.get_by_label("Against")).to_be_visible()
    check_looks(page)


def test_a_customer_is_served_in_plain_words(page: Page) -> None:
    page.goto("/play/new/?env_id=dialogue:Retail-v0-easy")
    page.get_by_label("Seed").fill("7")
    page.get_by_role("main").get_by_role("button", name="Play").click()
    expect(page.locator("[data-live]")).to_be_attached()
    page.get_by_label("Action").fill("Could you tell me your e-mail address, or your name and zip code?")
    page.get_by_label("Action").press("Enter")
    expect(page.locator(".messages li")).to_have_count(3)
    expect(page.locator(".messages li").last).to_be_in_viewport()
    page.get_by_role("button", name="show_order").click()
    page.locator(".tool-control:visible input").fill("W0000")
    expect(page.get_by_label("Action")).to_have_value("\\boxed{show_order order=W0000}")
    page.get_by_role("button", name="Call show_order").click()
    expect(page.locator(".messages li").last).to_contain_text("There is no order W0000.")
    page.get_by_role("link", name="Hint").click()
    expect(page.locator("#hint code")).to_be_visible()
    check_looks(page)


def test_the_catalog_finds_what_two_can_play(page: Page) -> None:
    page.goto("/environments/")
    page.get_by_label("Two or more").check()
    expect(page.locator("#results [role=status]")).to_contain_text(" of ")
    expect(page.locator("#results [data-seats]").first).to_have_text("2 seats")
    page.locator("#results").get_by_role("link", name=f"Play {TICTACTOE}", exact=True).click()
    expect(page.get_by_label("Against")).to_be_visible()
