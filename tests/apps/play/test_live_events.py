"""What the topic "episode" tells pages."""

import pytest
from django.contrib.auth.models import AnonymousUser

from apps.episodes import operations
from apps.episodes.models import Episode
from apps.episodes.restore import restore
from apps.play.shows import operations as shows
from apps.play.topics import EpisodeTopic
from tests.apps.agents import built_in
from tests.apps.play.people import BOX, Person
from tests.html import tight

GUESS = "game:GuessTheNumber-v0-hard"
TOPIC = EpisodeTopic()

pytestmark = pytest.mark.django_db


def test_one_event_stands_for_all_turns_that_a_page_lacks() -> None:
    person = Person()
    episode = person.begin(GUESS, 7)
    for guess in (25, 30, 35):
        person.send(episode, BOX % guess)
    (event,) = TOPIC.events(episode.id, 1, "watch")
    assert event.seq == 3
    assert [f'id="t{number}"' in event.html for number in (1, 2, 3)] == [False, True, True]
    assert event.html.index('id="t3"') < event.html.index('id="t2"')
    assert TOPIC.events(episode.id, 3, "watch") == []
    assert TOPIC.current(episode.id) == 3


def test_a_seat_gets_a_board_that_acts_and_spectators_a_picture() -> None:
    person = Person()
    episode = person.begin(GUESS, 7)
    person.send(episode, BOX % 25)
    seat, watch, home = (TOPIC.events(episode.id, 0, audience)[0].html for audience in ("seat-0", "watch", "home"))
    assert 'role="grid"' in seat
    assert 'id="expected-seq"' in seat
    assert 'role="img"' in watch
    assert "<button" not in watch
    assert 'id="expected-seq"' not in watch
    assert f'id="episode-{episode.id}"' in home
    assert "csrf" not in seat + watch + home


def test_a_seat_is_for_who_sits_in_it() -> None:
    person = Person()
    episode = person.begin(GUESS, 7)
    visitor = person.client.session["visitor"]
    nobody = AnonymousUser()
    assert TOPIC.allows(episode.id, "seat-0", nobody, visitor)
    assert not TOPIC.allows(episode.id, "seat-0", nobody, "f" * 32)
    assert not TOPIC.allows(episode.id, "seat-0", nobody, "")
    assert not TOPIC.allows(episode.id, "seat-1", nobody, visitor)
    assert TOPIC.allows(episode.id, "watch", nobody, "")
    assert TOPIC.current("nosuchone") is None


def test_a_pause_is_told_to_everybody() -> None:
    episode = shows.start(GUESS, built_in("expert"), seed=3)
    shows.pause(episode.id)
    (event,) = TOPIC.events(episode.id, 0, "watch")
    assert 'id="show-state" hx-swap-oob="true" data-paused' in tight(event.html)


def test_a_fast_agent_is_not_read_out_at_every_turn() -> None:
    episode = shows.start(GUESS, built_in("random"), seed=3, pace=0.2)
    told = []
    for guess in (1, 2, 3, 4, 5):
        locked = operations.lock(episode.id)
        operations.record_turn(locked, restore(locked), BOX % guess)
        (event,) = TOPIC.events(episode.id, guess - 1, "watch")
        told.append('id="said"' in event.html)
    assert told == [False, False, False, False, True]
    operations.abandon(Episode.objects.get(pk=episode.id))
    assert 'id="said"' in TOPIC.events(episode.id, 5, "watch")[0].html
