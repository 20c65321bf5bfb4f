"""Hostile texts in every row that a page shows: nothing of them runs, loads or becomes an element of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from django.db import transaction
from django.urls import reverse
from playwright.sync_api import Page

from tests.apps.benchmarks import shorten
from tests.counts import Counted
from tests.walks.hostile_texts import HUGE, LINKS, MARK, SCRIPTS, TEXTS
from tests.walks.shortened import EPISODES
from tests.walks.site import Site

LISTS = {
    "site:home": "", "site:search": "q=hostile", "accounts:account": "", "moderation:reports": "", "agents:list": "",
    "agents:upload": "name=<b id=hostile>", "episodes:list": "mine=on&source=all", "episodes:recent": "",
    "play:lobby": "", "play:watch_new": "", "duels:new": "", "jobs:list": "whose=mine", "jobs:recent": "",
    "jobs:submit": "agent={agent}", "trainings:train": "parent={training}&parent_update=1",
    "trainings:compare": "job={training}", "leaderboard:benchmark": "", "leaderboard:top": "",
    "leaderboard:agents": "", "leaderboard:yours": "", "leaderboard:challenges": "",
    "leaderboard:elsewhere": "benchmark=games-easy",
}  # fmt: skip
"""Pages and fragments whose address names no row, and which list rows of everybody or of one person; with a query."""
SHOW_NONE = {"trainings:train", "leaderboard:yours"}
"""Of these, those that show no text of the rows."""
NO_PAGES = {"episodes:turn_json", "episodes:json", "episodes:jsonl", "jobs:spec", "agents:weights", "site:picture",
            "site:doc", "trainings:checkpoint", "trainings:log", "accounts:login_link",
            "catalog:environment", "daily:card_svg", "daily:card_png", "lens:json",
            "leaderboard:challenge_file"}  # fmt: skip
"""Addresses that name a row and answer with data, with a text of our own, or with a refusal."""
WORD = "W" * 100
"""Has no place where a line could break."""
FOUND = f"""[
  ...document.querySelectorAll('#{MARK}, [onerror], [onload], [onfocus], [onclick], [onmouseover], iframe, object'),
  ...document.querySelectorAll('a[href^="javascript:" i], a[href^="data:text" i], a[href^="vbscript:" i]'),
  ...document.querySelectorAll('[src*="//evil.example"], [href^="https://evil" i], [href^="//evil" i], base[href]'),
  ...(window.{MARK} ? [document.documentElement] : []),
].map((element) => element.outerHTML.slice(0, 200))"""
WIDE = """(() => {
  const root = document.documentElement;
  if (root.scrollWidth <= root.clientWidth) return "";
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
})()"""
"""The innermost element that makes a page wider than the window; empty if none does."""
FETCHED = """async (path) => {
  const html = await (await fetch(path)).text();
  if (html.includes("<html")) return false;
  document.querySelector("main").innerHTML = html;
  await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
  return true;
}"""
"""Put a fragment into the page, as htmx does; false if it is a page of its own."""
CHECKED = f"(isWhole) => [{FOUND}, isWhole ? {WIDE} : '', document.documentElement.innerHTML.includes('{MARK}')]"


@pytest.fixture
def rows(site: Site, person: Any) -> Iterator[dict[str, Any]]:
    """Rows of every kind that belong to `person`, with hostile texts written past every check; gone afterwards."""
    from apps.agents.models import Agent, Upload
    from apps.episodes.models import Batch, Episode, Turn
    from apps.jobs.models import Job
    from apps.leaderboard.models import Challenge, ReportedRow, Score
    from apps.moderation.models import Decision, Report
    from tests.apps.site.addresses import ENV_ID
    from tests.apps.site.objects import SCORE, objects_of

    with transaction.atomic(), pytest.MonkeyPatch.context() as patch:
        shorten(patch, EPISODES)  # as on the site
        objects = objects_of({"the owner": person})
        texts = {"agent_name": SCRIPTS[0][:80]}
        Challenge.objects.filter(owner=person).update(**texts, uploads=1, problem="".join(TEXTS))
        ReportedRow.objects.filter(owner=person).update(
            **texts, tools=SCRIPTS[2][:200], notes="".join(TEXTS), link="javascript:alert(1)//https://evil.example/"
        )
        Job.objects.filter(owner=person).update(
            state=Job.State.CANCELLED, name=SCRIPTS[0][:60] + WORD[:60], reason="".join(TEXTS)
        )
        Job.objects.filter(owner=person, kind="training").update(hidden_reason="".join(SCRIPTS))
        ranked = Job.objects.get(pk=objects["job"])
        Job.objects.filter(pk=ranked.pk).update(state=Job.State.DONE)
        Batch.objects.filter(pk=ranked.batch_id).update(visibility="public")
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
        episode.failure = episode.hidden_reason = "".join(SCRIPTS)
        episode.save()
        Agent.objects.filter(owner=person).update(
            name=SCRIPTS[2][:40] + WORD[:40], about="\n".join(TEXTS), visibility="public"
        )
        agent, reason = Agent.objects.get(slug=objects["agent"]), "\n".join(text[:500] for text in TEXTS)
        Score.objects.filter(pk=objects["score"]).update(agent=agent)
        Score.objects.create(job=ranked, agent=agent, **SCORE, env_id=ENV_ID)
        for kind, key in (("episode", objects["episode"]), ("agent", agent.slug), ("job", ranked.pk), (MARK, MARK)):
            Report.objects.create(kind=kind, key=key, reason=reason, reporter=person)
        Decision.objects.create(verb="hide", kind="episode", key=MARK, reason=reason, by=SCRIPTS[0])
        Upload.objects.filter(owner=person).update(name=LINKS[0][:80], problem="".join(SCRIPTS)[:1000])
        type(person).objects.filter(pk=person.pk).update(username=SCRIPTS[0], is_staff=True)
    yield objects
    Challenge.objects.filter(owner=person).delete()
    ReportedRow.objects.filter(owner=person).delete()
    Report.objects.filter(reporter=person).delete()
    type(person).objects.filter(pk=person.pk).update(username=f"formerly-hostile-{person.pk}")
    Job.objects.filter(owner=person).delete()
    Agent.objects.filter(owner=person).delete()
    Upload.objects.filter(owner=person).delete()
    Episode.objects.filter(pk=objects["episode"]).delete()


@pytest.fixture
def watched(logged_in: Page, tmp_path: Path) -> tuple[Page, list[str]]:
    """The page of the owner, and what it did that no text may make it do."""
    did: list[str] = []
    logged_in.set_viewport_size({"width": 390, "height": 900})  # where texts without a space are wider than the page
    own = {"127.0.0.1", "localhost"}
    logged_in.on("dialog", lambda dialog: (did.append(f"dialog: {dialog.message}"), dialog.dismiss()))
    logged_in.on("popup", lambda other: did.append(f"window: {other.url}"))
    logged_in.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("data:", "blob:", tmp_path.as_uri()))
            or request.url.split("/")[2].split(":")[0] in own
            else did.append(f"request: {request.url}")
        ),
    )
    return logged_in, did


def test_no_text_runs_or_loads_anything_on_any_page(
    watched: tuple[Page, list[str]], rows: dict[str, Any], expected: list[str], counted: Counted, tmp_path: Path
) -> None:
    from tests.apps.site.addresses import TABLE

    page, did = watched
    page.route("**/seats/*/take/", lambda route: route.fulfill(status=204))  # the page of a seat goes on by itself
    expected.append("status of 40")
    pages = {name: address for name, address in TABLE.items() if not name.startswith("api:")}  # the API sends no pages
    rows_of = {name for name, address in pages.items() if address.names and not address.post} - NO_PAGES
    page.goto(reverse("site:docs"), wait_until="domcontentloaded")
    names, shown = sorted(rows_of | set(LISTS)), set()
    wide: list[str] = []
    for name in names:
        address = TABLE[name]
        path = reverse(name, args=[rows[part] for part in address.names])
        query = LISTS.get(name, "").format(**rows) or urlencode(address.sent)
        if name == "episodes:replay_file":  # a page that people save, and open without a site
            saved = tmp_path / "replay.html"
            saved.write_bytes(page.request.get(path).body())
            page.goto(saved.as_uri(), wait_until="domcontentloaded")
            is_whole = True
        elif is_whole := not page.evaluate(FETCHED, f"{path}?{query}"):
            page.goto(f"{path}?{query}", wait_until="domcontentloaded")
        found, culprit, is_shown = page.evaluate(CHECKED, is_whole)
        if page.url.startswith("file:"):
            page.goto(reverse("site:docs"), wait_until="domcontentloaded")
        assert found == [], name
        if culprit:
            wide.append(f"{name} is too wide: {culprit}")
        shown.update([name] if is_shown else [])
    assert wide == [], "\n".join(wide)
    assert did == []
    assert set(LISTS) - SHOW_NONE <= shown
    counted("hostile texts on pages", len(TEXTS) * len(names))


def test_a_line_of_ten_megabytes_leaves_the_page_usable(watched: tuple[Page, list[str]], rows: dict[str, Any]) -> None:
    from apps.episodes.models import Episode

    page, did = watched
    Episode.objects.get(pk=rows["episode"]).turns.filter(number=3).update(observation=HUGE, action=HUGE)
    page.goto(reverse("episodes:episode", args=[rows["episode"]]))
    size = page.evaluate("document.documentElement.outerHTML.length")
    assert size < len(HUGE) // 2
    assert did == []
