"""Buttons of all pages that begin an episode at once: a double click begins one."""

from __future__ import annotations

import pytest
from django.urls import reverse

from apps.episodes import operations
from apps.episodes.models import Batch, Episode
from apps.episodes.operations import Occupant
from apps.play.topics import EpisodeTopic
from apps.standings import games, ratings
from gem import benchmarks
from tests.apps.agents import built_in
from tests.apps.daily.days import choose_wordle
from tests.apps.play.people import Person
from tests.apps.seasons import shorten
from tests.apps.twice import copy_of, entries_of, key_on, twice_at_once

GUESS, TICTACTOE = "game:GuessTheNumber-v0-easy", "duel:TicTacToe-v0"
NEW, RANKED = "/play/new/", "/leaderboard/play/"
BUTTONS = {
    "the catalog": ("/environments/", NEW, {}),
    "an environment": (f"/environments/{GUESS}/", NEW, {"seed": ""}),
    "the home page": ("/", "/begin/", {}),
    "a cell of the home page": ("/", "/begin/", {"act": "\\boxed{reveal 0 0}"}),
    "the daily seed": ("/daily/", "/daily/begin/", {}),
    "the agents on open seeds": ("/leaderboard/yours/?benchmark=games", f"{RANKED}?benchmark=games", {}),
    "the agents on hidden seeds": ("/leaderboard/yours/?benchmark=games-easy", f"{RANKED}?benchmark=games-easy", {}),
    "the next duel": ("/leaderboard/duels/", "/leaderboard/duels/next/", {}),
}
"""A page, the address that its button posts to, and what is chosen."""

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def site(monkeypatch: pytest.MonkeyPatch) -> None:
    """Agents, a day, a season and a board of duels."""
    expert, random, _ = (built_in(kind) for kind in ("expert", "random", "human"))
    choose_wordle(monkeypatch)
    shorten(monkeypatch)
    benchmarks.load("games-easy")
    game = operations.store(operations.draft(TICTACTOE, seed=3), seats=[Occupant(expert), Occupant(random)])
    Episode.objects.filter(pk=game.pk).update(status="ended", terminated=True, state=None)
    games.collect()
    ratings.refresh()


@pytest.mark.parametrize("name", BUTTONS)
@pytest.mark.parametrize("is_new", [True, False], ids=["somebody new", "a visitor"])
def test_a_button_that_is_pressed_twice_begins_one(name: str, is_new: bool) -> None:
    address, action, chosen = BUTTONS[name]
    person = Person()
    if not is_new:
        person.begin(GUESS, 1)
    sent = {**entries_of(person.client.get(address), action), **chosen}
    before = Episode.objects.count()  # a visit of the home page begins the show there
    places = twice_at_once(lambda: copy_of(person.client).post(action, sent))
    last = person.client.post(action, sent)  # and a third time, when both are answered
    assert {*places, last["Location"]} == {last["Location"]}
    assert Episode.objects.count() == before + 1
    assert not Batch.objects.filter(episodes=None).exists()
    begun = Episode.objects.get(pk=last["Location"].rstrip("/").rpartition("/")[2])
    assert begun.turn_count == ("act" in chosen)


@pytest.mark.parametrize("action", [NEW, "/play/watch/new/"])
def test_what_follows_an_episode_begins_once(action: str) -> None:
    person = Person()
    episode = person.begin(GUESS, 1)
    person.client.post(reverse("play:abandon", args=[episode.pk]))
    before = Episode.objects.count()
    sent = entries_of(person.client.get(episode.get_absolute_url()), action)
    assert len(set(twice_at_once(lambda: copy_of(person.client).post(action, sent)))) == 1
    assert Episode.objects.count() == before + 1


def test_another_visit_of_a_page_begins_another() -> None:
    person = Person()
    keys = {key_on(person.client.get("/environments/"), NEW) for _ in range(2)}
    assert len(keys) == 2
    assert len({person.begin(GUESS, 1, idempotency_key=key).pk for key in keys}) == 2


def test_what_all_readers_receive_has_nobodys_key() -> None:
    person = Person()
    episode = person.begin(GUESS, 1)
    person.client.post(reverse("play:abandon", args=[episode.pk]))
    [event] = EpisodeTopic().events(episode.pk, 0, "watch")
    forms = event.html.partition(f'action="{NEW}"')[2].partition("</form>")[0]
    assert 'name="idempotency_key" value=""' in forms
