"""Forms that are sent twice, at once and one after the other: each begins what it asks for once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from apps.episodes.models import Batch, Episode
from apps.play import operations
from apps.play.models import BegunByForm
from apps.play.people import lobby_seats
from apps.play.starting import once
from tests.apps.agents import built_in
from tests.apps.play.people import BOX, Person
from tests.apps.twice import copy_of, key_on, twice_at_once

EASY, HARD = "game:GuessTheNumber-v0-easy", "game:GuessTheNumber-v0-hard"
TICTACTOE = "duel:TicTacToe-v0"
NEW, WATCH, DUEL = "/play/new/", "/play/watch/new/", "/play/duel/new/"
FORMS = [
    (NEW, {"env_id": EASY}, 1),
    (NEW, {"env_id": TICTACTOE, "opponent": "random", "seat": "1"}, 1),
    (NEW, {"env_id": TICTACTOE, "opponent": "person"}, 1),
    (NEW, {"env_id": TICTACTOE, "opponent": "anybody", "visibility": "public"}, 1),
    (WATCH, {"env_id": HARD, "agent": "random", "pace": "1"}, 1),
    (DUEL, {"env_id": HARD, "first": "you", "second": "random", "pace": "1"}, 2),
]

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def agents() -> None:
    for kind in ("human", "expert", "random"):
        built_in(kind)


@pytest.mark.parametrize(("address", "entries", "episodes"), FORMS)
@pytest.mark.parametrize("is_new", [True, False], ids=["somebody new", "a visitor"])
def test_a_form_that_is_sent_twice_begins_one(
    address: str, entries: dict[str, Any], episodes: int, is_new: bool
) -> None:
    person = Person()
    if not is_new:
        person.begin(EASY, 1)
    before = Episode.objects.count()
    sent = {**entries, "idempotency_key": key_on(person.client.get(address), address)}
    places = twice_at_once(lambda: Person(copy_of(person.client)).client.post(address, sent))
    last = person.client.post(address, sent)  # and a third time, when both are answered
    assert {*places, last["Location"]} == {last["Location"]}
    assert Episode.objects.count() - before == episodes
    assert Batch.objects.count() == (address == DUEL)
    if address == NEW:
        assert "Give up" in person.client.get(last["Location"]).content.decode(), "the board is theirs to play"


def test_another_key_or_another_choice_begins_another() -> None:
    person = Person()
    key = key_on(person.client.get(NEW), NEW)
    first = person.begin(EASY, 1, idempotency_key=key)
    assert person.begin(EASY, 1, idempotency_key=key) == first
    assert person.begin(EASY, 2, idempotency_key=key) != first
    assert person.begin(EASY, 1, idempotency_key=key_on(person.client.get(NEW), NEW)) != first
    assert person.begin(EASY, 1) != person.begin(EASY, 1), "a form without a key, such as that of a program"


def test_the_key_of_somebody_else_leads_nowhere() -> None:
    person, other = Person(), Person()
    other.begin(EASY, 1)
    key = key_on(person.client.get(NEW), NEW)
    assert person.begin(EASY, 1, idempotency_key=key) != other.begin(EASY, 1, idempotency_key=key)


def test_a_seat_from_the_lobby_is_taken_once() -> None:
    chosen = {"env_id": TICTACTOE, "opponent": "anybody", "visibility": "public"}
    for visitor in ("a" * 32, "b" * 32):
        waits = operations.begin_against(TICTACTOE, None, user=AnonymousUser(), visitor=visitor, visibility="public")
        lobby_seats.offer(waits)
    offered = set(Episode.objects.values_list("pk", flat=True))
    person = Person()
    sent = {**chosen, "idempotency_key": key_on(person.client.get(NEW), NEW)}
    places = {person.client.post(NEW, sent)["Location"] for _ in range(2)}
    assert len(places) == 1
    assert set(Episode.objects.values_list("pk", flat=True)) == offered


@pytest.mark.parametrize("count", ["1", "4"])
def test_an_agent_that_is_let_on_twice_continues_once(count: str) -> None:
    person = Person()
    episode = person.begin(EASY, 7)
    person.send(episode, BOX % 9)
    if count == "1":
        address = f"/play/{episode.pk}/finish/"
        key = key_on(person.client.get(episode.get_absolute_url()), address)
    else:
        address = f"/episodes/{episode.pk}/forks/new/"
        key = key_on(person.client.get(f"/episodes/{episode.pk}/forks/"), address)
    sent = {"turn": "1", "agent": "expert", "count": count, "idempotency_key": key}
    places = twice_at_once(lambda: person.client.post(address, sent))
    last = person.client.post(address, sent)
    assert {*places, last["Location"]} == {last["Location"]}
    assert Episode.objects.filter(parent=episode).count() == int(count)
    person.client.post(address, {**sent, "idempotency_key": once.new_key()})
    assert Episode.objects.filter(parent=episode).count() == 2 * int(count)


def test_what_forms_began_is_forgotten_after_a_day() -> None:
    person = Person()
    person.begin(EASY, 1, idempotency_key=once.new_key())
    once.forget()
    assert BegunByForm.objects.count() == 1
    BegunByForm.objects.update(created=timezone.now() - once.KEPT - timedelta(minutes=1))
    once.forget()
    assert not BegunByForm.objects.exists()
    assert Episode.objects.count() == 1


def test_a_key_that_can_be_guessed_makes_nobody_the_same_visitor() -> None:
    first, second = (Person().begin(EASY, 1, idempotency_key="1") for _ in range(2))
    assert first != second
    assert first.seats.get().visitor != second.seats.get().visitor
