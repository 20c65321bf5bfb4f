"""Every page of the table of addresses keeps the rules of axe-core and has at most one primary button, does not jump
while it loads, and says no error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from django.db import transaction
from django.urls import reverse
from playwright.sync_api import Page, Route, expect

from tests.walks.page_rules import WATCH_SHIFTS, primary_buttons, shifts, violations
from tests.walks.site import Site

if TYPE_CHECKING:
    from apps.accounts.models import User

SOME = [
    *("leaderboard:benchmark", "play:lobby", "forks:tree"),
    *("lens:credit", "agents:agent", "curves:training", "reported:episode"),
]
"""Pages that are looked at in every run of the tests; all of them are in the long one."""
ELSEWHERE = {"jobs:seat", "jobs:take_seat", "doors:prime_published"}
"""Addresses that lead on by themselves, or say what only programs read."""
WIDTHS = (1280, 390)
POINTS = "**/curves.json*"
PARTS = 6
"""The long tests divide the pages among as many tests."""


@pytest.fixture
def objects(site: Site, person: User) -> Iterator[dict[str, Any]]:
    """One object of each kind that an address names, all of which belong to `person`, who is of the staff."""
    from apps.agents.models import Upload
    from apps.jobs.models import Job
    from tests.apps.site.objects import objects_of

    person.is_staff = True
    person.save()
    with transaction.atomic():
        made = objects_of({"the owner": person})
        Job.objects.filter(owner=person).update(state=Job.State.CANCELLED)  # no worker plays or trains for it
    yield made
    Job.objects.filter(owner=person).delete()
    Upload.objects.filter(owner=person).delete()


def look_at(page: Page, path: str) -> list[str]:
    """Open the page at both widths in both themes, and return what is wrong with it; nothing if it is no page."""
    answer = page.request.get(path, max_redirects=0)
    is_page = answer.status == 200 and "text/html" in answer.headers.get("content-type", "")
    if not is_page or "<html" not in answer.text():
        return []
    found = set[str]()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(path, wait_until="load")
        page.wait_for_function("() => !document.querySelector('.waiting, .htmx-request')")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            complaints = violations(page, only_colours=scheme == "dark")
            found.update(f"{path} at {width}, {scheme}: {said}" for said in complaints)
        if buttons := primary_buttons(page):
            found.add(f"{path} at {width}: more than one primary button: {buttons}")
        found.update(f"{path} at {width}: moved by {value:.3f}: {moved}" for value, moved in shifts(page))
    return sorted(found)


def paths_of(names: list[str], objects: dict[str, Any]) -> Iterator[str]:
    """The paths of the addresses with these names."""
    from tests.apps.site.addresses import TABLE

    for name in names:
        address = TABLE[name]
        query = urlencode(address.sent)
        yield reverse(name, args=[objects[part] for part in address.names]) + (f"?{query}" if query else "")


def names_of(part: int) -> list[str]:
    """One of `PARTS` parts of all addresses that are asked with GET, from every app some; part -1 is `SOME`."""
    from tests.apps.site.addresses import TABLE

    if part < 0:
        return SOME
    pages = [name for name, address in TABLE.items() if not (address.post or name.startswith("api:"))]
    return [name for name in pages if name not in ELSEWHERE][part::PARTS]


@pytest.mark.parametrize("part", [-1, *(pytest.param(part, marks=pytest.mark.long) for part in range(PARTS))])
def test_pages_keep_the_rules(logged_in: Page, objects: dict[str, Any], expected: list[str], part: int) -> None:
    logged_in.add_init_script(WATCH_SHIFTS)
    expected.append("status of 40")  # answers in parts of pages, such as a health that is not there
    found = [said for path in paths_of(names_of(part), objects) for said in look_at(logged_in, path)]
    assert found == [], "\n".join(found)


NEWS = """() => {
  const target = document.getElementById("facts");
  document.dispatchEvent(new CustomEvent("htmx:oobAfterSwap", { detail: { target } }));
}"""


def test_a_new_theme_says_nothing_of_points_that_have_not_arrived(
    logged_in: Page, objects: dict[str, Any], expected: list[str]
) -> None:
    """The curves are drawn anew in other colours; before their points are there, that is no training without any.

    Points that cannot be had once are asked for again with the next news.
    """
    expected.append("ERR_FAILED")
    logged_in.add_init_script(WATCH_SHIFTS)
    [path] = paths_of(["curves:training"], objects)
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    logged_in.route(POINTS, hold)
    with logged_in.expect_request(POINTS):
        logged_in.goto(path, wait_until="load")
    logged_in.emulate_media(color_scheme="dark")
    logged_in.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    expect(logged_in.locator("#no-curve")).to_be_hidden()
    for route in held:
        route.continue_()
    expect(logged_in.locator(".curve-box canvas").first).to_be_visible()
    assert shifts(logged_in) == []
    logged_in.unroute_all()
    logged_in.route(POINTS, lambda route: route.abort())
    with logged_in.expect_event("requestfailed"):
        logged_in.evaluate(NEWS)
    logged_in.unroute_all()
    with logged_in.expect_response(POINTS):
        logged_in.evaluate(NEWS)
