"""An agent plays on where somebody stopped, in a branch."""

import pytest

from apps.episodes.models import Episode
from tests.apps.play.people import BOX, Person, notice

GUESS = "game:GuessTheNumber-v0-hard"

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> Person:
    return Person()


def branch_of(episode: Episode) -> Episode:
    return Episode.objects.get(parent=episode)


def test_the_expert_goes_on_where_a_person_stopped(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    person.send(episode, BOX % 25)
    assert "Let the expert finish" in person.page(episode)
    answer = person.client.post(f"/play/{episode.id}/finish/")
    branch = branch_of(episode)
    assert answer["Location"] == branch.get_absolute_url()
    assert (branch.parent_turn, branch.turn_count, branch.show.pace) == (1, 1, 1.0)
    assert branch.seats.get().agent.slug == "expert"
    assert Episode.objects.get(pk=episode.pk).status == Episode.Status.RUNNING


def test_an_agent_goes_on_from_any_turn_of_anybodys_episode(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    person.send(episode, BOX % 25)
    other = Person()
    other.client.post(f"/play/{episode.id}/finish/", {"turn": "0", "agent": "random"})
    branch = branch_of(episode)
    assert (branch.turn_count, branch.seats.get().agent.slug) == (0, "random")


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        ({"turn": "9"}, "there is no turn 9"),
        ({"turn": "x"}, "whole number from 0 to 0"),
        ({"agent": "nobody"}, "no agent named nobody"),
        ({"agent": "human"}, "no agent named human"),
    ],
)
def test_what_cannot_go_on_is_refused_with_a_sentence(person: Person, sent: dict[str, str], sentence: str) -> None:
    episode = person.begin(GUESS, 7)
    answer = person.client.post(f"/play/{episode.id}/finish/", sent, headers={"HX-Request": "true"})
    assert answer.status_code >= 400
    assert sentence in notice(answer)
    assert not Episode.objects.filter(parent=episode).exists()
