"""Two windows of one person: a turn is played once, and undone once; an episode is forked once."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from django.db import connection

from apps.episodes.models import Episode
from tests.apps.agents import built_in
from tests.apps.meanwhile import Elsewhere, meanwhile
from tests.apps.play.people import BOX, Person

EASY = "game:GuessTheNumber-v0-easy"


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


def played(person: Person, *, ended: bool) -> Episode:
    """An episode of this person with two turns, after which it goes on or has ended."""
    episode = person.begin(EASY, 7)
    for guess in (9, 4 if ended else 8):  # 4 is the number of this seed
        person.send(episode, BOX % guess)
    return Episode.objects.get(pk=episode.pk)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("ended", [False, True])
def test_a_turn_that_is_undone_twice_at_once_gives_one_branch(ended: bool) -> None:
    built_in("human")
    person = Person()
    episode = played(person, ended=ended)
    assert (episode.turn_count, episode.over) == (2, ended)
    answers = []

    def undo() -> None:
        answers.append(person.client.post(f"/play/{episode.pk}/undo/"))

    again = Elsewhere(undo)
    with meanwhile('INTO "episodes_seat"', again) as it:
        undo()
    again.end()
    assert it.happened
    undo()  # and a third time, when both are answered
    branch = Episode.objects.get(parent=episode)
    assert [(answer.status_code, answer.headers.get("Location")) for answer in answers] == [
        (302, branch.get_absolute_url())
    ] * 3
    assert (branch.turn_count, branch.status) == (1, Episode.Status.RUNNING)


@pytest.mark.django_db(transaction=True)
def test_a_turn_is_undone_anew_if_its_branch_went_on() -> None:
    built_in("human")
    person = Person()
    episode = played(person, ended=True)
    person.client.post(f"/play/{episode.pk}/undo/")
    first = Episode.objects.get(parent=episode)
    assert person.send(first, BOX % 1).status_code == 200
    person.client.post(f"/play/{episode.pk}/undo/")
    (second,) = Episode.objects.filter(parent=episode).exclude(pk=first.pk)
    assert Person().client.post(f"/play/{episode.pk}/undo/").status_code == 403, "nobody else gets the branch"
    person.client.post(f"/play/{second.pk}/abandon/")
    person.client.post(f"/play/{episode.pk}/undo/")
    assert Episode.objects.filter(parent=episode).count() == 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("address", ["/play/{}/fork/", "/episodes/{}/forks/new/"])
def test_an_episode_that_is_forked_twice_at_once_has_one_branch(address: str) -> None:
    for kind in ("human", "expert", "random"):
        built_in(kind)
    person, other = Person(), Person()
    episode, path = played(other, ended=True), address
    person.client.get("/play/")
    person.begin(EASY, 1)  # from now on the visitor has a key
    sent = {"turn": "1", "agent": "you"}
    answers = []

    def fork() -> None:
        answers.append(person.client.post(path.format(episode.pk), sent))

    again = Elsewhere(fork)
    with meanwhile('INTO "episodes_seat"', again) as it:
        fork()
    again.end()
    assert it.happened
    branch = Episode.objects.get(parent=episode)
    assert [answer.headers.get("Location") for answer in answers] == [branch.get_absolute_url()] * 2
    assert person.send(branch, BOX % 2).status_code == 200
    fork()
    other.client.post(path.format(episode.pk), sent)
    assert Episode.objects.filter(parent=episode).count() == 3, "a branch that went on, or of somebody else, is another"
