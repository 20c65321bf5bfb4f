"""What people see of their quotas, how they report content, and how they leave."""

from playwright.sync_api import Page, expect

from apps.accounts.models import User
from apps.moderation.models import Report
from tests.walks.conftest import PASSWORD, check_looks, log_in


def test_quotas_stand_on_the_account_page_and_leaving_needs_the_password(
    page: Page, person: User, expected: list[str]
) -> None:
    expected.append("status of 422")
    log_in(page, person.username)
    page.goto("/account/")
    quotas = page.get_by_role("region", name="Quotas")
    expect(quotas).to_contain_text("Queued jobs")
    expect(quotas).to_contain_text("0 of 20 at a time")
    check_looks(page)
    page.get_by_role("link", name="Delete my account").click()
    expect(page.get_by_role("region", name="What stays, without your name")).to_contain_text("leaderboard")
    check_looks(page)
    page.get_by_label("Password").fill("not the password")
    page.get_by_role("button", name="Delete my account").click()
    expect(page.get_by_text("Nothing was deleted.")).to_be_visible()
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Delete my account").click()
    expect(page.get_by_role("status")).to_contain_text("Your account is deleted.")
    expect(page.get_by_role("banner").get_by_role("link", name="Log in")).to_be_visible()


def test_anybody_reports_an_episode_from_its_page(page: Page) -> None:
    page.goto("/")
    page.locator("#play-now [role=gridcell]").nth(12).click()
    page.wait_for_url("**/episodes/**")
    page.get_by_role("link", name="Report this episode").click()
    expect(page.get_by_label("What is wrong with it?")).to_be_visible()
    check_looks(page)
    page.get_by_label("What is wrong with it?").fill("It shows a secret.")
    page.get_by_role("button", name="Send report").click()
    expect(page.get_by_role("status")).to_contain_text("Your report was sent.")
    assert Report.objects.filter(reason="It shows a secret.").exists()
