"""How a person begins an episode in these walks."""

import re

from playwright.sync_api import Page, expect


def begin(page: Page, env_id: str, seed: int = 7) -> None:
    """Start an episode as the form does, which is fetched but not drawn: other walks fill it in by hand."""
    form = page.request.get(f"/play/new/?env_id={env_id}")
    token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form.text())
    assert token
    fields: dict[str, str | float | bool] = {"csrfmiddlewaretoken": token[1], "env_id": env_id, "seed": str(seed)}
    answer = page.request.post("/play/new/", form=fields, max_redirects=0)
    assert answer.status == 302, answer.text()
    page.goto(answer.headers["location"])
    expect(page.locator("#board")).to_be_visible()
