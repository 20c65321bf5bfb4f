"""Starting episodes: forms, seeds, limits."""

import pytest
from django.test import override_settings

from apps.episodes.models import Episode
from gem.validation.values import MAX_SEED
from tests.apps.play.people import Person

GUESS = "game:GuessTheNumber-v0-hard"

pytestmark = pytest.mark.django_db


def test_without_a_seed_one_is_drawn() -> None:
    person = Person()
    seeds = {person.begin(GUESS).seed for _ in range(5)}
    assert len(seeds) > 1
    assert all(0 <= seed < 1_000_000 for seed in seeds)


@pytest.mark.parametrize("seed", [0, 42, MAX_SEED])
def test_a_seed_is_taken_as_it_is(seed: int) -> None:
    assert Person().begin(GUESS, seed).seed == seed


@pytest.mark.parametrize(
    ("seed", "sentence"),
    [
        ("forty-two", "A seed is a whole number"),
        ("1.5", "A seed is a whole number"),
        ("-1", "A seed cannot be negative"),
        (str(MAX_SEED + 1), "The largest seed is"),
        ("9" * 5000, "A seed is a whole number"),
        ("7\x00", "A seed is a whole number"),
    ],
)
def test_a_seed_that_is_none_is_explained(seed: str, sentence: str) -> None:
    answer = Person().client.post("/play/new/", {"env_id": GUESS, "seed": seed})
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not Episode.objects.exists()


@pytest.mark.parametrize("address", ["/play/new/", "/play/watch/new/"])
@pytest.mark.parametrize("env_id", ["game:GuesTheNumber-v0", "", "no\x00such", "x" * 4000])
def test_an_unknown_environment_is_explained(address: str, env_id: str) -> None:
    answer = Person().client.post(address, {"env_id": env_id, "agent": "expert", "pace": "1"})
    assert answer.status_code == 422
    assert 'aria-invalid="true"' in answer.content.decode()
    assert not Episode.objects.exists()


def test_a_near_miss_names_the_environment() -> None:
    answer = Person().client.post("/play/new/", {"env_id": "game:GuesTheNumber-v0"})
    assert "game:GuessTheNumber-v0" in answer.content.decode()


@pytest.mark.parametrize("address", ["/play/new/", "/play/watch/new/", "/play/duel/new/"])
def test_an_address_with_a_near_miss_names_the_environment(address: str) -> None:
    answer = Person().client.get(f"{address}?env_id=game:GuesTheNumber-v0")
    assert answer.status_code == 404
    assert "/environments/game:GuessTheNumber-v0/" in answer.content.decode()


@pytest.mark.parametrize("address", ["/play/new/", "/play/watch/new/", "/play/duel/new/"])
@pytest.mark.parametrize("env_id", ["openenv:http:++127.0.0.1:9", "openenv:", "openenv:http://[", "openenv:\0"])
def test_environments_of_other_servers_are_not_played(address: str, env_id: str) -> None:
    answer = Person().client.post(address, {"env_id": env_id, "agent": "random", "first": "random", "second": "random"})
    assert answer.status_code == 422
    if "\0" not in env_id:
        assert "Environments of other servers are not played here" in answer.content.decode()


def test_a_button_elsewhere_gets_the_sentence_as_a_notice() -> None:
    answer = Person().client.post("/play/new/", {"env_id": GUESS, "seed": "x"}, headers={"HX-Request": "true"})
    assert answer.status_code == 422
    assert "A seed is a whole number" in answer.content.decode()
    assert "<html" not in answer.content.decode()


def test_an_unlisted_episode_is_in_no_list_and_open_by_its_address() -> None:
    person, other = Person(), Person()
    episode = person.begin(GUESS, 1, visibility="unlisted")
    assert episode.visibility == "unlisted"
    assert episode.id not in other.client.get("/episodes/").content.decode()
    assert other.client.get(episode.get_absolute_url()).status_code == 200
    assert episode.id in person.client.get("/episodes/?mine=on").content.decode()


@override_settings(STARTS_PER_MINUTE=3)
def test_who_starts_too_many_is_told_when_to_come_back() -> None:
    person = Person()
    for _ in range(3):
        person.begin(GUESS)
    answer = person.client.post("/play/new/", {"env_id": GUESS})
    assert answer.status_code == 429
    assert 0 < int(answer["Retry-After"]) <= 21
    assert "Nothing was started" in answer.content.decode()
    assert Episode.objects.count() == 3


def test_an_agent_that_watches_starts_as_a_show() -> None:
    answer = Person().client.post("/play/watch/new/", {"env_id": GUESS, "agent": "expert", "seed": "5", "pace": "0.5"})
    episode = Episode.objects.get()
    assert answer["Location"] == episode.get_absolute_url()
    assert (episode.show.pace, episode.seats.get().agent.slug) == (0.5, "expert")


def test_a_human_cannot_be_watched_as_an_agent() -> None:
    answer = Person().client.post("/play/watch/new/", {"env_id": GUESS, "agent": "human"})
    assert answer.status_code == 422
    assert "This agent is not available" in answer.content.decode()


def test_only_who_started_a_show_steers_it() -> None:
    person, other = Person(), Person()
    person.client.post("/play/watch/new/", {"env_id": GUESS, "agent": "random", "seed": "5"})
    episode = Episode.objects.get()
    address = episode.get_absolute_url()
    assert "Pause" in person.client.get(address).content.decode(), "at once, so that nothing moves when it arrives"
    assert 'id="controls"' not in other.client.get(address).content.decode()
    for verb in ("pause", "resume", "one-turn", "pace", "stop"):
        assert other.client.post(f"/play/{episode.id}/control/{verb}/", {"pace": "1"}).status_code == 403
    assert person.client.post(f"/play/{episode.id}/control/pause/").status_code == 302
    episode.show.refresh_from_db()
    assert episode.show.paused
    assert person.client.post(f"/play/{episode.id}/control/pace/", {"pace": "slow"}).status_code == 400
    assert person.client.post(f"/play/{episode.id}/control/dance/").status_code == 404
    assert person.client.post(f"/play/{episode.id}/control/stop/").status_code == 302
    episode.refresh_from_db()
    assert episode.outcome == Episode.Outcome.ABANDONED
