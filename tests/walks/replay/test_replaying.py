"""A replay: every turn by scrubber, keys, links and address, at once and without a request."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.walks.conftest import check_looks, move
from tests.walks.site import Site

ASK_FOR_TREE = """() => {
  const tree = document.getElementById("tree");
  return htmx.ajax("GET", tree.getAttribute("hx-get"), { source: tree, swap: "none" });
}"""


@pytest.fixture
def address(site: Site) -> str:
    """An episode that the expert solved."""
    from apps.agents.models import Agent
    from apps.episodes import operations
    from apps.episodes.restore import restore
    from gem.agents import Request, make_agent

    expert = make_agent("expert")
    seats = [operations.Occupant(Agent.objects.get(slug="expert"))]
    episode = operations.begin("game:Minesweeper-v0-hard", seed=8, seats=seats)
    while not episode.over:
        env = restore(episode)
        (decision,) = expert.act([Request(env, "", {}, episode.turn_count + 1)])
        operations.record_turn(episode, env, decision.action, extra_info={"note": decision.note})
    return episode.get_absolute_url()


def turn(page: Page) -> str:
    return page.locator(".scrub [data-player-at]").inner_text()


def test_keys_and_buttons_go_from_turn_to_turn(page: Page, address: str) -> None:
    page.goto(address)
    check_looks(page)
    last = int(turn(page))
    assert last > 5
    page.keyboard.press("ArrowLeft")
    assert turn(page) == str(last - 1)
    page.keyboard.press("Home")
    assert turn(page) == "0"
    expect(page.locator("[data-player-turn-text]")).to_contain_text("Instructions")
    page.keyboard.press("ArrowRight")
    expect(page.locator("[data-player-turn-text] .action")).to_be_visible()
    page.get_by_role("link", name="Next turn").click()
    assert turn(page) == "2"
    page.keyboard.press("End")
    assert turn(page) == str(last)
    expect(page.locator("[data-player-total]")).to_have_text("1.000")
    page.keyboard.press("Home")
    page.keyboard.press("r")
    assert turn(page) == "1", "the first turn opens cells"
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys of the player")).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys of the player")).to_be_hidden()
    page.get_by_role("button", name="Share").click()
    expect(page.get_by_label("Link to turn 1")).to_have_value(re.compile("/turns/1/$"))
    frame = page.get_by_role("textbox", name="Frame for a page").input_value()
    page.goto(re.findall(r'src="([^"]*)"', frame)[0])
    page.get_by_role("button", name="First turn").click()
    expect(page.locator("[data-player-at]").first).to_have_text("0")
    expect(page.locator("[data-player-turn-text]")).to_contain_text("Instructions")
    check_looks(page)


def test_the_address_follows_and_opens_the_same_turn(page: Page, address: str) -> None:
    page.goto(address)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"/turns/2/$"))
    board = page.locator("#board .board").inner_text()
    page.reload()
    assert turn(page) == "2"
    assert page.locator("#board .board").inner_text() == board
    expect(page.locator("#t2")).to_have_attribute("aria-current", "step")


def test_scrubbing_asks_the_server_nothing(page: Page, address: str) -> None:
    page.goto(address)
    page.wait_for_load_state("networkidle")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    turns = page.evaluate(
        """async () => {
          const scrubber = document.getElementById("scrub");
          for (let turn = 0; turn <= Number(scrubber.max); turn += 1) {
            scrubber.value = turn;
            scrubber.dispatchEvent(new Event("input", { bubbles: true }));
            await Promise.resolve();
          }
          return Number(scrubber.max);
        }"""
    )
    assert turns > 0
    assert asked == []


def test_a_turn_that_cannot_be_fetched_is_not_said_to_be_shown(page: Page, address: str, expected: list[str]) -> None:
    expected.append("ERR_FAILED")
    page.route("**/frames/**", lambda route: route.abort())
    page.goto(address)
    before = turn(page)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#toasts")).to_contain_text(f"so turn {before} is still shown")
    assert turn(page) == before
    page.unroute_all()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".scrub [data-player-at]")).to_have_text(str(int(before) - 1))


def test_it_plays_by_itself(page: Page, address: str) -> None:
    move(page)
    page.goto(f"{address}turns/0/")
    page.get_by_label("Speed").select_option("2")
    page.locator("body").press(" ")
    expect(page.locator(".scrub [data-player-at]")).to_have_text(re.compile(r"^[1-9]\d*$"))
    page.get_by_role("button", name="Pause").click()
    at = turn(page)
    page.wait_for_timeout(600)
    assert turn(page) == at


def test_a_row_and_a_bar_open_their_turn(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("link", name="Turn 3", exact=True).click()
    assert turn(page) == "3"
    page.locator("[data-strip='2']").click()
    assert turn(page) == "2"
    expect(page.locator("[data-player-json]")).to_have_attribute("href", re.compile(r"/turns/2/raw\.json$"))


def test_the_lens_shows_what_a_turn_was_given_and_worth(page: Page, address: str) -> None:
    """A worker of the site measures it; the numbers in the browser are those of the server, for any discount."""
    page.goto(address)
    page.get_by_role("link", name="Credit").click()
    expect(page.locator("[data-reading]")).to_contain_text("not measured yet")
    page.get_by_label("Continuations").select_option("16")
    page.get_by_label("played by").select_option("random")
    page.get_by_label("for", exact=True).select_option("turn")
    page.get_by_role("button", name="Measure the truth").click()
    expect(page.locator("svg.truth")).to_be_visible()
    last = turn(page)
    expect(page.locator("[data-reading]")).to_contain_text(re.compile(rf"^Turn {last}, .* (worth|cost|good)"))
    page.locator("#gamma").fill("0.7")
    expect(page.locator("[data-discount]")).to_have_text("0.70")
    sheet = page.request.get(page.locator("[data-csv]").get_attribute("href") or "").text()
    names, *rows = [line.split(",") for line in sheet.splitlines()]
    for name, row in (("togo", "togo"), ("rebn", "rebn"), ("true_random_16", "truth")):
        numbers = [line[names.index(name)] for line in rows]
        place = page.locator("[data-row^='truth-'] text" if row == "truth" else f"[data-row='{row}'] output")
        shown = [float(text.replace("−", "-")) for text in place.all_text_contents()]
        assert shown == [pytest.approx(float(number), abs=0.0051) for number in numbers if number]
    page.get_by_role("button", name="Next reward").click()
    assert turn(page) == "1"  # after the last turn it goes on from the first
    check_looks(page)
    page.get_by_role("link", name="Same seed").click()
    page.get_by_label("Tinted by").select_option("truth")
    expect(page.locator("[data-cells] a").first).to_have_text("–")
    check_looks(page)


def test_the_list_of_its_turns_is_printed_whole(page: Page, address: str) -> None:
    page.goto(address)
    page.emulate_media(media="print")
    assert page.locator("#turns").evaluate("(list) => list.scrollHeight <= list.clientHeight + 1")


def test_the_server_verifies_it(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_role("button", name="Verify").click()
    expect(page.locator("#verdict")).to_contain_text("Identical in all")


def test_one_plays_on_from_any_turn(page: Page, address: str) -> None:
    page.goto(address)
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    expect(page).to_have_url(re.compile(r"/turns/1/$"))
    page.get_by_role("button", name="Fork from here").click()
    expect(page.get_by_label("Action")).to_be_visible()
    expect(page.locator("#turns li")).to_have_count(1)
    expect(page.locator("[data-live]")).to_be_attached()
    page.locator("#board button.cell[data-alt]").first.click(button="right")
    expect(page.locator("#t2")).to_be_visible()
    page.goto(f"{address}forks/1/")
    check_looks(page)
    ends = page.locator("#tree .only-wide a")
    expect(ends).to_have_count(2)
    end = page.locator("[name=end]").first
    end.check()
    page.evaluate(ASK_FOR_TREE)  # as the page does every few seconds while a branch runs
    expect(end).to_be_checked()
    page.locator("[data-go-on] .choices").get_by_text("random").click()
    page.locator("[data-go-on] .times").get_by_text("4").click()
    expect(page.locator("[data-command]")).to_contain_text("1 --agent random --count 4")
    page.get_by_role("button", name="Continue 4 times").click()
    expect(ends).to_have_count(6)
    ends.last.locator("text").first.click()
    expect(page).to_have_url(re.compile(r"/episodes/\w+/$"))


def test_it_can_be_read_without_scripts(new_context: Callable[..., object], address: str) -> None:
    page = new_context(java_script_enabled=False).new_page()  # type: ignore[attr-defined]
    page.goto(f"{address}turns/2/")
    page.get_by_role("link", name="Next turn").click()
    assert turn(page) == "3"


def test_the_seed_is_copied_by_a_click(page: Page, address: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto(address)
    page.get_by_role("button", name="Copy seed 8").click()
    expect(page.locator("#toasts")).to_contain_text("Copied 8")
    assert page.evaluate("navigator.clipboard.readText()") == "8"


def test_a_long_text_that_was_copied_is_read_whole_above_the_bar_of_a_phone(page: Page, address: str) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(address)
    seed = page.get_by_role("button", name="Copy seed 8")
    seed.evaluate("(button, text) => { button.dataset.copy = text; }", "0123456789abcdef" * 4)
    seed.click()
    said = page.locator("#toasts .toast").bounding_box()
    bar = page.locator(".bar-nav").bounding_box()
    assert said is not None
    assert bar is not None
    assert said["x"] >= 0
    assert said["x"] + said["width"] <= 390
    assert said["y"] + said["height"] <= bar["y"]
