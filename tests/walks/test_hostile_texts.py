"""Hostile texts in every row that a page shows: nothing of them runs, loads or becomes an element of the page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.urls import reverse
from playwright.sync_api import Page

from tests.walks.accessibility import overflow
from tests.walks.hostile_texts import HUGE, LINKS, MARK, SCRIPTS, TEXTS
from tests.walks.site import Site

LISTS = ("site:home", "site:search", "accounts:account", "agents:list", "episodes:list", "play:lobby", "jobs:list",
         "jobs:submit", "play:watch_new", "duels:new", "trainings:compare", "leaderboard:benchmark")  # fmt: skip
"""Pages whose address names no row, and which list rows of everybody or of one person."""
NO_PAGES = {"episodes:turn_json", "episodes:json", "episodes:jsonl", "jobs:spec", "agents:weights", "site:picture",
            "site:doc", "trainings:checkpoint", "trainings:log", "accounts:login_link",
            "catalog:environment"}  # fmt: skip
"""Addresses that name a row and answer with data, with a text of our own, or with a refusal."""
FOUND = f"""() => [
  ...document.querySelectorAll('#{MARK}, [onerror], [onload], [onfocus], [onclick], [onmouseover], iframe, object'),
  ...document.querySelectorAll('a[href^="javascript:" i], a[href^="data:text" i], a[href^="vbscript:" i]'),
  ...document.querySelectorAll('[src*="//evil.example"], [href^="https://evil" i], [href^="//evil" i], base[href]'),
  ...(window.{MARK} ? [document.documentElement] : []),
].map((element) => element.outerHTML.slice(0, 200))"""
WIDE = """() => {
  const root = document.documentElement;
  const isCulprit = (element) => {
    const before = element.style.display;
    element.style.display = "none";
    const fits = root.scrollWidth <= root.clientWidth;
    element.style.display = before;
    return fits;
  };
  let found = document.body;
  for (let next = found; next; next = [...found.children].find(isCulprit)) found = next;
  return found.cloneNode().outerHTML.slice(0, 200) + found.textContent.trim().slice(0, 80);
}"""
"""The innermost element that makes a page wider than the window."""


@pytest.fixture
def rows(site: Site, person: Any) -> Iterator[dict[str, Any]]:
    """Rows of every kind that belong to `person`, with hostile texts written past every check; gone afterwards."""
    from apps.agents.models import Agent, Upload
    from apps.episodes.models import Episode, Turn
    from apps.jobs.models import Job
    from tests.apps.site.addresses import objects_of

    with transaction.atomic():
        objects = objects_of({"the owner": person})
        Job.objects.filter(owner=person).update(state=Job.State.CANCELLED, name=SCRIPTS[0][:120], reason="".join(TEXTS))
        episode = Episode.objects.get(pk=objects["episode"])
        first = episode.turns.get()
        call = {"name": "search", "input": "", "output": ""}
        Turn.objects.bulk_create(
            Turn(
                episode=episode, number=number, action=text, observation=text, reward=0.0, seq=number,
                info={"prefix": text, "suffix": text, "tool_calls": [dict.fromkeys(call, text)]},
                extra={"note": text, "replaced": text},
            )
            for number, text in enumerate(TEXTS, first.number + 1)
        )  # fmt: skip
        episode.turn_count = episode.seq = len(TEXTS) + first.number
        episode.status = Episode.Status.FAILED
        episode.failure = "".join(SCRIPTS)
        episode.save()
        Agent.objects.filter(owner=person).update(name=SCRIPTS[2][:80], about="\n".join(TEXTS))
        Upload.objects.filter(owner=person).update(name=LINKS[0][:80], problem="".join(SCRIPTS)[:1000])
        type(person).objects.filter(pk=person.pk).update(username=SCRIPTS[0])
    yield objects
    type(person).objects.filter(pk=person.pk).update(username=f"formerly-hostile-{person.pk}")
    Job.objects.filter(owner=person).delete()
    Agent.objects.filter(owner=person).delete()
    Upload.objects.filter(owner=person).delete()
    Episode.objects.filter(pk=objects["episode"]).delete()


@pytest.fixture
def watched(logged_in: Page) -> tuple[Page, list[str]]:
    """The page of the owner, and what it did that no text may make it do."""
    did: list[str] = []
    own = {"127.0.0.1", "localhost"}
    logged_in.on("dialog", lambda dialog: (did.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    logged_in.on("popup", lambda other: did.append(f"window: {other.url}"))
    logged_in.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("data:", "blob:")) or request.url.split("/")[2].split(":")[0] in own
            else did.append(f"request: {request.url}")
        ),
    )
    return logged_in, did


def test_no_text_runs_or_loads_anything_on_any_page(
    watched: tuple[Page, list[str]], rows: dict[str, Any], expected: list[str]
) -> None:
    from tests.apps.site.addresses import TABLE

    page, did = watched
    expected.append("status of 40")
    rows_of = {name for name, address in TABLE.items() if address.names and not address.post} - NO_PAGES
    names = [name for name in TABLE if name in LISTS or name in rows_of]
    visited = 0
    for name in names:
        address = TABLE[name]
        query = "&".join(f"{key}={value}" for key, value in address.sent.items())
        path = reverse(name, args=[rows[part] for part in address.names])
        page.goto(f"{path}?{query}", wait_until="domcontentloaded")
        assert page.evaluate(FOUND) == [], name
        is_fragment = page.locator("link[rel=stylesheet]").count() == 0
        assert is_fragment or overflow(page) <= 0, f"{name} is {overflow(page)} px too wide: {page.evaluate(WIDE)}"
        visited += 1
    assert did == []
    assert visited > 25
    print(f"{len(TEXTS)} texts on {visited} pages")


def test_a_line_of_ten_megabytes_leaves_the_page_usable(watched: tuple[Page, list[str]], rows: dict[str, Any]) -> None:
    from apps.episodes.models import Episode

    page, did = watched
    Episode.objects.get(pk=rows["episode"]).turns.filter(number=3).update(observation=HUGE, action=HUGE)
    page.goto(reverse("episodes:episode", args=[rows["episode"]]))
    size = page.evaluate("document.documentElement.outerHTML.length")
    assert size < len(HUGE) // 2
    assert did == []
