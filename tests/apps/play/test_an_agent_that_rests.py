"""An endpoint agent that gave no answer: the show rests, and whoever steers it or plays against it asks again."""

from __future__ import annotations

from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.agents import operations as agents
from apps.episodes.models import Episode
from apps.leases import LeaseLost
from apps.play import operations
from apps.play.shows import operations as shows
from apps.play.shows import show_leases
from gem.agents.endpoint import EndpointSpec

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("long_leases")]

SENTENCE = "m gave no answer at turn 1. The server did not answer within 60 s."


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def duel(ada: User) -> Episode:
    """Ada against her own endpoint, which has the first seat and gave no answer."""
    agent = agents.create(ada, "m", EndpointSpec(url="http://127.0.0.1:1/v1", model="m"))
    episode = operations.begin_against("duel:TicTacToe-v0", agent, seat=1, seed=1, user=ada, visitor="")
    token = uuid4()
    assert show_leases.claim(token, 9, showcase=True) == [episode.id]
    show_leases.rest(episode.id, token, SENTENCE)
    return episode


def test_the_page_says_why_and_the_player_asks_again(client: Client, ada: User, duel: Episode) -> None:
    client.force_login(ada)
    page = client.get(duel.get_absolute_url()).content.decode()
    assert SENTENCE in page
    assert "Ask the agent again" in page
    assert not show_leases.claim(uuid4(), 9, showcase=True)
    assert client.post(reverse("play:control", args=[duel.id, "resume"])).status_code == 302
    assert SENTENCE not in client.get(duel.get_absolute_url()).content.decode()
    assert show_leases.claim(uuid4(), 9, showcase=True) == [duel.id]


def test_a_program_of_the_player_asks_again(client: Client, ada: User, duel: Episode) -> None:
    client.force_login(ada)
    answer = client.post(f"/api/v1/episodes/{duel.pk}/control", {"do": "resume"}, content_type="application/json")
    assert answer.status_code == 200, answer.content
    assert show_leases.claim(uuid4(), 9, showcase=True) == [duel.id]


def test_strangers_read_why_and_have_no_button(client: Client, duel: Episode) -> None:
    page = client.get(duel.get_absolute_url()).content.decode()
    assert SENTENCE in page
    assert "Ask the agent again" not in page
    assert client.post(reverse("play:control", args=[duel.id, "resume"])).status_code == 403


def test_a_host_that_lost_its_lease_does_not_pause_it(ada: User) -> None:
    agent = agents.create(ada, "m", EndpointSpec(url="http://127.0.0.1:1/v1", model="m"))
    episode = shows.start("game:GuessTheNumber-v0-easy", agent, seed=1, user=ada)
    with pytest.raises(LeaseLost):
        show_leases.rest(episode.id, uuid4(), SENTENCE)
    episode.show.refresh_from_db()
    assert (episode.show.paused, episode.show.trouble) == (False, "")
