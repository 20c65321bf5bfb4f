"""Two windows of one person: a turn is played once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from apps.episodes.models import Episode
from tests.apps.agents import built_in
from tests.apps.play.people import BOX, Person


@pytest.mark.django_db(transaction=True)
def test_of_turns_sent_at_once_exactly_one_is_played() -> None:
    built_in("human")
    person = Person()
    episode = person.begin("game:GuessTheNumber-v0-hard", 7)
    together = Barrier(4)

    def send(guess: int) -> int:
        together.wait()
        try:
            return person.send(episode, BOX % guess, seq=0).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        answers = sorted(pool.map(send, (10, 20, 30, 40)))
    played = Episode.objects.get(pk=episode.pk)
    assert answers == [200, 409, 409, 409]
    assert (played.turn_count, played.seq, played.turns.count()) == (1, 1, 1)
