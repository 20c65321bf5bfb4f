"""The search field: one for environments, agents, episodes, jobs and documents."""

import re

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.episodes.models import Episode
from apps.play import operations

pytestmark = pytest.mark.django_db


@pytest.fixture
def episode() -> Episode:
    user = User.objects.create_user("player")
    return operations.begin("game:GuessTheNumber-v0-easy", seed=1, user=user, visitor="")


@pytest.fixture
def unlisted() -> Episode:
    user = User.objects.create_user("hidden")
    return operations.begin("game:GuessTheNumber-v0-easy", seed=1, user=user, visitor="", visibility="unlisted")


def test_a_whole_environment_id_opens_its_page(client: Client) -> None:
    answer = client.get("/search/", {"q": "game:GuessTheNumber-v0-easy"})
    assert answer.status_code == 302
    assert answer["Location"].endswith("/environments/game:GuessTheNumber-v0-easy/")


def test_words_list_what_fits(client: Client) -> None:
    page = client.get("/search/", {"q": "secret number"}).content.decode()
    assert "game:GuessTheNumber-v0-hard" in page


def test_a_similar_word_is_suggested_where_nothing_matches(client: Client) -> None:
    page = client.get("/search/", {"q": "sokobann easzy"}).content.decode()
    assert "Nothing matches" in page
    assert 'href="?q=sokoban%20easy"' in page
    assert client.get("/search/?q=sokoban%20easy").status_code in (200, 302)
    assert "Did you mean" not in client.get("/search/", {"q": "zqxv wkjh"}).content.decode()


def test_the_document_that_a_word_names_comes_first(client: Client) -> None:
    page = client.get("/search/", {"q": "training"}).content.decode()
    assert page.index(">Training<") < page.index(">Training on a GPU node<")


def test_an_episode_is_found_by_its_id(client: Client, episode: Episode) -> None:
    answer = client.get("/search/", {"q": episode.id.upper()})
    assert answer["Location"] == episode.get_absolute_url()


def test_a_public_episode_is_found_by_the_start_of_its_id(client: Client, episode: Episode) -> None:
    assert client.get("/search/", {"q": episode.id[:6]})["Location"] == episode.get_absolute_url()


def test_an_unlisted_episode_is_found_by_its_whole_id_only(client: Client, unlisted: Episode) -> None:
    assert "No results" in client.get("/search/", {"q": unlisted.id[:8]}).content.decode()
    assert client.get("/search/", {"q": unlisted.id})["Location"] == unlisted.get_absolute_url()


def test_an_agent_is_found_by_name(client: Client) -> None:
    page = client.get("/search/", {"q": "expert"}).content.decode()
    assert 'id="agents"' in page


def test_a_document_is_found_by_its_words_the_one_about_them_first(client: Client) -> None:
    page = client.get("/search/", {"q": "ReBN"}).content.decode()
    assert 'id="documents"' in page
    own, other = page.index("/docs/algorithms/rebn/"), page.index("/docs/experiments/")
    assert own < other


def test_the_only_document_that_fits_opens_at_once(client: Client) -> None:
    answer = client.get("/search/", {"q": "return batch normalization consolation"})
    assert (answer.status_code, answer["Location"]) == (302, "/docs/algorithms/rebn/")


def test_every_search_field_asks_for_the_same(client: Client) -> None:
    asked = [
        re.findall(
            r'<label class="sr" for="\w+">([^<]*)</label>\s*<input[^>]*\sname="q"[^>]*placeholder="([^"]*)"', page
        )
        for page in (client.get(address).content.decode() for address in ("/", "/search/?q=secret", "/nothing/here/"))
    ]
    assert [len(fields) for fields in asked] == [1, 2, 2]
    assert len({field for fields in asked for field in fields}) == 1


@pytest.mark.parametrize("query", ["", " ", "\0", "%", "'; drop table", "x" * 5000, "\ud800", "<script>"])
def test_odd_queries_are_answered(client: Client, query: str) -> None:
    answer = client.get("/search/", {"q": query.encode("utf-8", "surrogatepass")})
    assert answer.status_code == 200
    assert b"<script>" not in answer.content
