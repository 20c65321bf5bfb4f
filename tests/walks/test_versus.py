"""A visitor plays a ranked seed and sees how they do against the agents."""

import re

from playwright.sync_api import Page, expect

from tests.walks.conftest import check_looks
from tests.workers.processes import wait_until

ENV_ID = "game:GuessTheNumber-v0-easy"
RANKED_SECONDS = 180.0


def test_a_visitor_plays_a_ranked_seed_and_is_compared(page: Page) -> None:
    from apps.leaderboard.models import Score

    ranked = Score.objects.filter(env_id="", agent__slug__in=["random", "expert"]).values("agent").distinct()
    wait_until(lambda: ranked.count() == 2, "random and the expert are ranked", RANKED_SECONDS)
    page.goto("/leaderboard/?benchmark=games")
    expect(page.get_by_role("heading", name="You against the agents")).to_be_visible()
    expect(page.locator("#rows tr[id^=score-]")).to_have_count(2)
    page.get_by_label("Environment", exact=True).select_option(ENV_ID)
    page.get_by_role("button", name="Filter").click()
    expect(page.locator("#versus")).to_contain_text("You have not played a ranked seed yet.")
    check_looks(page)

    page.get_by_role("button", name="Play a ranked seed").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(ENV_ID)
    expect(page.locator("#board")).to_be_visible()
    for turn in range(1, 5):
        page.get_by_label("Action").fill(f"\\boxed{{{turn}}}")
        page.get_by_label("Action").press("Enter")
        expect(page.locator(f"#t{turn}")).to_be_attached()
        if page.locator("#end .ending").count():
            break
    agents = page.get_by_role("region", name="The ranked agents on this seed")
    expect(agents).to_contain_text(re.compile(r"Your return of \S+\s+beats \d of \d agents?"))
    expect(agents.get_by_role("listitem").first).to_contain_text("turn")
    check_looks(page)

    agents.get_by_role("link", name="your comparison with the agents").click()
    expect(page.locator("#versus")).to_contain_text(re.compile(r"Your\s+episode beats\s+\d+\s% of all episodes"))
    page.get_by_text("What counts").click()
    expect(page.get_by_text("If you give up, your return until then counts.")).to_be_visible()
    check_looks(page)
    page.get_by_role("link", name="Show your episodes").click()
    expect(page.get_by_role("row", name=re.compile(ENV_ID))).to_have_count(1)
    check_looks(page)


def test_a_visitor_plays_the_daily_seed_and_looks_at_the_agents(page: Page) -> None:
    page.goto("/")
    page.locator("#daily").get_by_role("link", name="Play").click()
    expect(page.get_by_role("heading", level=1, name="Daily seed")).to_be_visible()
    check_looks(page)
    page.get_by_role("button", name="Play today’s seed").click()
    expect(page.locator("#board")).to_be_visible()
    expect(page.get_by_text("daily seed")).to_be_visible()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Give up").click()
    page.get_by_role("link", name="How everybody did").click()
    expect(page.get_by_text("You played it as a guest")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("gemweb daily"))).to_be_visible()
    check_looks(page)

    page.get_by_role("navigation", name="Main").get_by_role("link", name="Agents").click()
    expect(page.get_by_role("heading", level=1, name="Agents")).to_be_visible()
    check_looks(page)
    page.get_by_role("row", name=re.compile("expert")).get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="Results by environment")).to_be_visible()
    check_looks(page)
    page.goto("/leaderboard/duels/")
    check_looks(page)
