"""How a person begins an episode in these walks."""

from playwright.sync_api import Page, expect


def begin(page: Page, env_id: str, seed: int = 7) -> None:
    """Start an episode by the form."""
    page.goto(f"/play/new/?env_id={env_id}")
    page.get_by_label("Seed").fill(str(seed))
    page.get_by_role("main").get_by_role("button", name="Play").click()
    expect(page.locator("#board")).to_be_visible()
    page.wait_for_load_state()
