"""The list of episodes is paged by place: each episode is on one page, and a deep page costs no more than the first."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.episodes.lists import paging
from apps.episodes.lists.forms import FilterForm
from apps.episodes.lists.paging import page_of, place_of
from apps.episodes.models import Batch, Episode, Seat
from apps.episodes.views import PAGE_SIZE

pytestmark = pytest.mark.django_db

START = datetime(2026, 1, 1, tzinfo=UTC)
COUNT = 2 * PAGE_SIZE + 30


@pytest.fixture
def episodes() -> list[str]:
    """The ids of some pages of episodes, newest first; several began at the same time."""
    made = [
        Episode(
            env_id="game:GuessTheNumber-v0-easy",
            env_version=1,
            seed=number,
            status="failed" if number % 40 == 0 else "ended",
            success=False,
        )
        for number in range(COUNT)
    ]
    Episode.objects.bulk_create(made)
    for number, episode in enumerate(made):
        Episode.objects.filter(pk=episode.pk).update(created=START + timedelta(seconds=number // 3))
    return list(Episode.objects.order_by("-created", "id").values_list("pk", flat=True))


def shown(client: Client, address: str) -> tuple[list[str], str, str]:
    """The episodes of a page, and the links to the newer and the older one."""
    text = client.get(address).content.decode()
    links = {name: link for link, name in re.findall(r'href="(\?[^"]*(before|after)=[^"]*)"', text)}
    ids = list(dict.fromkeys(re.findall(r'class="id" href="/episodes/(\w+)/"', text)))
    return ids, links.get("after", ""), links.get("before", "")


def test_every_episode_is_on_one_page_in_both_directions(episodes: list[str], client: Client) -> None:
    walked, address = [], "?source=all"
    pages = []
    while address:
        ids, _, older = shown(client, f"/episodes/{address.replace('&amp;', '&')}")
        pages.append((address, ids))
        walked += ids
        address = older
    assert walked == episodes
    assert len(pages) == 3
    _, newer, _ = shown(client, f"/episodes/{pages[2][0].replace('&amp;', '&')}")
    assert shown(client, f"/episodes/{newer.replace('&amp;', '&')}")[0] == pages[1][1]
    assert (
        shown(client, f"/episodes/?source=all&after={place_of(Episode.objects.get(pk=episodes[3]))}")[0]
        == (episodes[:PAGE_SIZE])
    )


@pytest.mark.parametrize("number", [1, 2, 3])
def test_addresses_with_a_number_still_lead_there(episodes: list[str], client: Client, number: int) -> None:
    ids, newer, _ = shown(client, f"/episodes/?page={number}")
    assert ids == episodes[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    assert bool(newer) == (number > 1)


@pytest.mark.parametrize(
    "place", ["", "x", "1-2", "9" * 30, "99999999999999999-000000000000", "1-0000000000%00", "-", "²-a"]
)
def test_what_is_no_place_is_the_first_page(episodes: list[str], client: Client, place: str) -> None:
    for name in ("before", "after"):
        answer = client.get(f"/episodes/?{name}={place}")
        assert answer.status_code == 200
    assert shown(client, f"/episodes/?before={place}")[0][:1] in ([episodes[0]], [])


def test_a_deep_page_passes_over_nothing(episodes: list[str]) -> None:
    place = place_of(Episode.objects.get(pk=episodes[-10]))
    with CaptureQueriesContext(connection) as queries:
        page = page_of(Episode.objects.all(), {"before": place}, lambda rows: rows, PAGE_SIZE)
    assert [episode.pk for episode in page.rows] == episodes[-9:]
    assert not any("OFFSET" in query["sql"] for query in queries)


@pytest.mark.parametrize("number", ["9", "10000", "9" * 40])
def test_a_number_beyond_the_last_one_is_the_last_one(
    episodes: list[str], monkeypatch: pytest.MonkeyPatch, number: str
) -> None:
    assert paging.MAX_PAGE <= 100
    monkeypatch.setattr(paging, "MAX_PAGE", 2)
    page = page_of(Episode.objects.all(), {"page": number}, lambda rows: rows, PAGE_SIZE)
    assert [episode.pk for episode in page.rows] == episodes[PAGE_SIZE : 2 * PAGE_SIZE]
    assert page.number == 2
    assert page.before is not None, "the rest is one link away"


@pytest.mark.parametrize(("outcome", "index"), [("error", "failed_episodes"), ("abandoned", "abandoned_episodes")])
def test_rare_outcomes_are_found_by_their_index(episodes: list[str], outcome: str, index: str) -> None:
    matches = FilterForm(AnonymousUser(), {"outcome": outcome, "source": "all"}).episodes(AnonymousUser(), "")
    with connection.cursor() as cursor:
        # as in a large table, whatever is known about this one: its rows are counted now and then, beside the tests
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
        assert index in matches.order_by("-created", "id")[:PAGE_SIZE].explain()


def test_unlisted_episodes_are_in_the_lists_of_their_players_only(episodes: list[str]) -> None:
    ada, bob = User.objects.create_user("ada"), User.objects.create_user("bob")
    agent = Agent.objects.get_or_create(slug="human", defaults={"name": "human", "kind": "human", "colour": 8})[0]
    Episode.objects.filter(pk=episodes[0]).update(visibility="unlisted", batch=Batch.objects.create(kind="duel"))
    for number in range(2):  # who has both seats sees the episode once
        Seat.objects.create(episode_id=episodes[0], number=number, agent=agent, user=ada)
    assert list(Episode.objects.listed_for(ada).order_by("-created", "id").values_list("pk", flat=True)) == episodes
    assert Episode.objects.listed_for(bob).count() == COUNT - 1
