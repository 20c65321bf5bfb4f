"""Pages of episodes of one moment, and choices of two people at once."""

from __future__ import annotations

import pytest

from apps.accounts.models import User
from apps.episodes import operations
from apps.episodes.models import Episode
from apps.episodes.operations import Occupant
from apps.episodes.snapshot import snapshot
from apps.play import operations as play
from apps.visibility import Visibility
from tests.apps.agents import built_in
from tests.apps.meanwhile import Elsewhere, meanwhile
from tests.apps.play.people import Person


@pytest.mark.django_db
def test_a_page_shows_no_turn_that_comes_as_an_event_again() -> None:
    built_in("human")
    ada = User.objects.create_user("ada")
    drawn = play.begin("game:GuessTheNumber-v0-easy", seed=7, user=ada, visitor="")
    play.take_turn(drawn.pk, "\\boxed{10}", expected_seq=0, user=ada, visitor="")
    assert [snapshot(episode, 0).turns for episode in (drawn, Episode.objects.get())] == [
        [],
        list(drawn.turns.all()),
    ]


@pytest.mark.django_db(transaction=True)
def test_what_one_player_closes_the_other_does_not_open_at_the_same_moment() -> None:
    human, people = built_in("human"), [User.objects.create_user(name) for name in ("ada", "bob")]
    seats = [Occupant(human, user=user) for user in people]
    episode = operations.begin("duel:TicTacToe-v0", seed=1, seats=seats)
    person = Person()
    person.client.force_login(people[0])
    close = Elsewhere(lambda: operations.set_visibility(episode, Visibility.PRIVATE))
    with meanwhile('UPDATE "episodes_episode" SET "visibility"', close) as it:
        person.client.post(f"/episodes/{episode.pk}/visibility/", {"visibility": "unlisted"})
    close.end()
    assert it.happened
    assert Episode.objects.get().visibility == Visibility.PRIVATE
    person.client.post(f"/episodes/{episode.pk}/visibility/", {"visibility": "unlisted"})
    assert Episode.objects.get().visibility == Visibility.PRIVATE
