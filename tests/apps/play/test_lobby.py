"""The lobby: running episodes on a wall, those with most spectators first, with filters."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from apps.episodes.models import Episode
from apps.live import presence
from tests.apps.play.people import Person
from tests.html import tight

pytestmark = pytest.mark.django_db
GUESS, HANOI, NEGOTIATION = "game:GuessTheNumber-v0-easy", "game:TowerofHanoi-v0-easy", "duel:Negotiation-v0"


def wall(client: Client, query: str = "") -> list[str]:
    """The ids of the episodes on the wall, in their order."""
    page = client.get(f"/play/watch/{query}", headers={"HX-Request": "true"}).content.decode()
    assert "<h1" not in page
    return re.findall(r'id="show-(\w+)"', page)


@pytest.fixture
def running() -> list[Episode]:
    """Three running episodes, the one that began last first."""
    person = Person()
    begun = [person.begin(GUESS), person.begin(HANOI), person.begin(NEGOTIATION, opponent="random", seat="0")]
    return begun[::-1]


def test_the_episodes_with_most_spectators_come_first(running: list[Episode], monkeypatch: pytest.MonkeyPatch) -> None:
    watched = {f"episode:{running[1].pk}": 2, f"episode:{running[2].pk}": 31}
    monkeypatch.setattr(presence, "counts", lambda keys: {key: watched.get(key, 0) for key in keys})
    client = Client()
    assert wall(client) == [running[2].pk, running[1].pk, running[0].pk]
    assert wall(client, "?sort=new") == [episode.pk for episode in running]
    assert "33 people watch" in tight(client.get("/play/watch/"))


def test_the_wall_shows_one_kind_if_asked(running: list[Episode]) -> None:
    client = Client()
    assert wall(client, "?kind=Duels") == [running[0].pk]
    assert set(wall(client, "?kind=Games")) == {running[1].pk, running[2].pk}
    assert set(wall(client, "?kind=People")) == {episode.pk for episode in running}
    assert wall(client, "?kind=%00nothing") == []


def test_every_card_follows_its_episode(running: list[Episode]) -> None:
    page = Client().get("/play/watch/").content.decode()
    for episode in running:
        assert f'ws-connect="/live/episode/{episode.pk}/?after={episode.seq}&amp;audience=home"' in page


def test_a_private_episode_is_not_on_the_wall(running: list[Episode]) -> None:
    Episode.objects.filter(pk=running[0].pk).update(visibility="private")
    assert running[0].pk not in wall(Client())
