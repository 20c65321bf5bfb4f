"""Somebody looks at the learning curves of the recipes, and opens one."""

from playwright.sync_api import Page, expect

from tests.walks.conftest import check_looks


def test_every_curve_opens_its_recipe(page: Page) -> None:
    page.goto("/studies/curves/")
    check_looks(page)
    page.get_by_role("main").locator("a.multiple").first.click()
    page.wait_for_url("**/studies/curves/*/")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    check_looks(page)
