"""Two requests for one more agent in a duel, at the same moment."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import AnonymousUser

from apps.duels import operations
from apps.episodes.models import Batch, Episode
from tests.apps.agents import built_in
from tests.apps.meanwhile import Elsewhere, meanwhile
from tests.apps.play.people import Person

GUESS = "game:GuessTheNumber-v0-hard"
KEY = "v" * 32

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def agents() -> None:
    for kind in ("human", "expert", "random"):
        built_in(kind)


@pytest.mark.usefixtures("agents")
def test_an_agent_that_a_page_adds_twice_plays_once() -> None:
    person = Person()
    chosen = {"env_id": GUESS, "first": "expert", "second": "random", "seed": "5", "pace": "0.5"}
    page = person.client.post("/play/duel/new/", chosen)["Location"]
    assert 'name="place" value="2"' in person.client.get(page).content.decode()
    statuses = []

    def add() -> None:
        statuses.append(person.client.post(f"{page}add/", {"agent": "random", "place": "2"}).status_code)

    again = Elsewhere(add)
    with meanwhile('INTO "play_show"', again) as it:
        add()
    again.end()
    assert it.happened
    assert statuses == [302, 302]
    assert list(Episode.objects.order_by("slot").values_list("slot", flat=True)) == [0, 1, 2]


@pytest.mark.usefixtures("agents")
def test_two_agents_that_are_added_at_once_have_a_place_each() -> None:
    nobody = AnonymousUser()
    random, expert = built_in("random"), built_in("expert")
    begin = operations.DuelStart(GUESS, 5)
    duel: Batch = operations.start(begin, [random, expert], user=nobody, visitor=KEY)
    other = Elsewhere(lambda: operations.add(duel, expert, user=nobody, visitor=KEY))
    with meanwhile('INTO "play_show"', other) as it:
        operations.add(duel, random, user=nobody, visitor=KEY)
    other.end()
    assert it.happened
    assert other.refusal is None
    slots = duel.episodes.order_by("slot").values_list("slot", "seats__agent__slug")
    assert list(slots) == [(0, "random"), (1, "expert"), (2, "random"), (3, "expert")]
