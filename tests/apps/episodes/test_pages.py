"""The pages of episodes: live, replay, turns, data, lists."""

import json
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from apps.episodes import operations
from apps.episodes.models import Batch, Episode
from apps.episodes.operations import Occupant
from apps.episodes.text import example_in
from tests.apps.agents import built_in
from tests.apps.episodes.test_operations import GUESS, begin, play
from tests.html import tight

pytestmark = pytest.mark.django_db

HTMX = {"HX-Request": "true"}


@pytest.fixture
def ended() -> Episode:
    """Three guesses and a slip that ended it."""
    episode = begin()
    play(episode, "\\boxed{25}", "\\boxed{30}", "\\boxed{35}", "a slip <b>&", extra_info={"note": "because <i>"})
    return episode


def test_the_permalink_is_live_first_and_a_replay_afterwards(client: Client) -> None:
    episode = begin()
    live = tight(client.get(episode.get_absolute_url()))
    assert f'ws-connect="/live/episode/{episode.id}/?after=0&amp;audience=watch"' in live
    play(episode, "no box")
    replay = tight(client.get(episode.get_absolute_url()))
    assert "ws-connect" not in replay
    assert 'type="range" min="0" max="1" value="1"' in replay


def test_a_turn_has_an_address_of_its_own(client: Client, ended: Episode) -> None:
    page = tight(client.get(f"/episodes/{ended.id}/turns/2/"))
    assert 'max="4" value="2"' in page
    assert "\\boxed{30}" in page
    assert client.get(f"/episodes/{ended.id}/turns/0/").status_code == 200
    missing = client.get(f"/episodes/{ended.id}/turns/5/")
    assert missing.status_code == 404


def test_what_agents_write_is_text_and_never_markup(client: Client, ended: Episode) -> None:
    page = client.get(ended.get_absolute_url()).content.decode()
    assert "a slip &lt;b&gt;&amp;" in page
    assert "because &lt;i&gt;" in page
    assert "<i>" not in page.replace('<i class="', "")


def test_browsers_keep_the_frames_of_an_ended_episode_and_ask_whether_they_may_show_them(
    client: Client, ended: Episode
) -> None:
    answer = client.get(f"/episodes/{ended.id}/frames/0/", headers={"Accept-Encoding": "gzip"})
    assert answer["Cache-Control"] == "private, no-cache"
    assert answer["Content-Encoding"] == "gzip"
    kept = {"Accept-Encoding": "gzip", "If-None-Match": answer["ETag"]}
    assert client.get(f"/episodes/{ended.id}/frames/0/", headers=kept).status_code == 304
    Episode.objects.filter(pk=ended.pk).update(visibility="private")
    assert client.get(f"/episodes/{ended.id}/frames/0/", headers=kept).status_code == 404
    Episode.objects.filter(pk=ended.pk).update(visibility="public")
    page = client.get(f"/episodes/{ended.id}/frames/0/").content.decode()
    assert [f'data-frame="{turn}"' in page for turn in range(6)] == [True] * 5 + [False]
    assert page.count('role="img"') == 5
    assert "<button" not in page
    assert client.get(f"/episodes/{ended.id}/frames/1/").status_code == 404


def test_the_frames_of_a_running_episode_are_not_kept(client: Client) -> None:
    assert client.get(f"/episodes/{begin().id}/frames/0/")["Cache-Control"] == "no-store"


def test_an_outdated_episode_can_still_be_read(client: Client, ended: Episode) -> None:
    Episode.objects.filter(pk=ended.id).update(env_version=99)
    page = client.get(ended.get_absolute_url()).content.decode()
    assert "The board cannot be drawn." in page
    assert "a slip" in page
    assert client.get(f"/episodes/{ended.id}/frames/0/").status_code == 200
    verdict = client.post(f"/episodes/{ended.id}/verify/", headers=HTMX).content.decode()
    assert "Not identical." in verdict


def test_an_episode_of_a_removed_environment_can_still_be_read(client: Client, ended: Episode) -> None:
    Episode.objects.filter(pk=ended.id).update(env_id="game:Gone-v0")
    page = client.get(ended.get_absolute_url())
    assert page.status_code == 200
    assert "a slip" in page.content.decode()


def test_verifying_says_identical_or_the_first_difference(client: Client, ended: Episode) -> None:
    verdict = client.post(f"/episodes/{ended.id}/verify/", headers=HTMX).content.decode()
    assert "Identical in all 4 turns." in verdict
    ended.turns.filter(number=3).update(observation="something else")
    verdict = client.post(f"/episodes/{ended.id}/verify/", headers=HTMX).content.decode()
    assert "Turn 3 differs in observation" in verdict
    assert "Turn 3 differs in observation" in client.post(f"/episodes/{ended.id}/verify/").content.decode()


def test_the_record_comes_as_json_and_line_by_line(client: Client, ended: Episode) -> None:
    whole = client.get(f"/episodes/{ended.id}/episode.json").json()
    assert (whole["seed"], whole["outcome"], len(whole["turns"])) == (7, "lost", 4)
    lines = client.get(f"/episodes/{ended.id}/episode.jsonl").content.decode().splitlines()
    assert len(lines) == 5
    assert json.loads(lines[2])["action"] == "\\boxed{30}"
    one = client.get(f"/episodes/{ended.id}/turns/3/raw.json").json()
    assert (one["turn"], one["extra"]) == (3, {"note": "because <i>"})
    assert client.get(f"/episodes/{ended.id}/turns/0/raw.json").json()["observation"] == ended.first_observation
    assert client.get(f"/episodes/{ended.id}/turns/9/raw.json").status_code == 404


def test_other_episodes_of_the_same_seed_are_named(client: Client, ended: Episode) -> None:
    other = begin()
    play(other, "no box")
    assert other.get_absolute_url() in client.get(ended.get_absolute_url()).content.decode()


def test_the_list_filters_by_every_field(client: Client, ended: Episode) -> None:
    mines = begin("game:Minesweeper-v0-easy", 8)
    human = operations.begin(GUESS, seed=9, seats=[Occupant(built_in("human"), visitor="b" * 32)])
    hidden = begin()
    Episode.objects.filter(pk=hidden.pk).update(visibility="unlisted")
    of_job = begin(batch=Batch.objects.create(kind=Batch.Kind.JOB))
    Episode.objects.filter(pk=of_job.pk).update(of_job=True)
    everything = {ended, mines, human, of_job}

    def shown(query: str) -> set[Episode]:
        page = client.get(f"/episodes/?{query}").content.decode()
        assert hidden.id not in page
        return {episode for episode in everything if episode.id in page}

    assert shown("") == {ended, mines, human}
    assert shown("source=all") == everything
    assert shown("source=jobs") == {of_job}
    assert shown("env_id=game:Minesweeper-v0-easy") == {mines}
    assert shown("agent=human") == {human}
    assert shown("outcome=lost") == {ended}
    assert shown("outcome=running") == {mines, human}
    assert shown("seed=9") == {human}
    assert shown("mine=on") == set()


@pytest.mark.parametrize(
    "query", ["env_id=x", "agent=%00", "outcome=%F0", "seed=x", "seed=" + "9" * 400, "page=-1", "page=99999"]
)
def test_a_filter_that_makes_no_sense_is_no_error(client: Client, query: str) -> None:
    assert client.get(f"/episodes/?{query}").status_code == 200


def test_htmx_gets_the_results_only(client: Client, ended: Episode) -> None:
    part = tight(client.get("/episodes/?outcome=lost", headers=HTMX))
    assert part.startswith('<section class="panel" id="results"')
    assert ended.id in part


def test_the_list_does_not_ask_once_per_row(client: Client, django_assert_max_num_queries: object) -> None:
    for seed in range(12):
        begin(seed=seed)
    with django_assert_max_num_queries(10):  # type: ignore[operator]
        assert client.get("/episodes/").status_code == 200


@pytest.mark.parametrize("path", ["", "turns/0/", "frames/0/", "episode.json", "episode.jsonl", "turns/1/raw.json"])
def test_there_is_a_page_for_what_is_not_there(client: Client, path: str) -> None:
    assert client.get(f"/episodes/nosuchone/{path}").status_code == 404


def test_the_lobby_shows_what_runs_and_what_has_ended(client: Client, ended: Episode) -> None:
    running = begin("game:Minesweeper-v0-easy", 8)
    page = client.get("/play/watch/").content.decode()
    assert f'id="episode-{running.id}"' in page
    assert ended.get_absolute_url() in page
    assert 'id="showcase"' not in page


def test_where_nobody_plays_the_expert_does(client: Client, ended: Episode) -> None:
    page = client.get("/play/watch/").content.decode()
    assert ended.get_absolute_url() in page
    assert 'id="showcase"' in page
    assert 'data-tone="live"' in page


def test_a_person_who_takes_no_turn_is_waited_for(client: Client) -> None:
    seats = [Occupant(built_in("human"), visitor="b" * 32)]
    left, played = (operations.begin("game:Minesweeper-v0-hard", seed=seed, seats=seats) for seed in (8, 5))
    Episode.objects.update(created=timezone.now() - timedelta(minutes=5))
    play(played, "\\boxed{reveal 2 2}")
    page = client.get("/play/watch/").content.decode()
    assert page.index(f'id="episode-{played.id}"') < page.index(f'id="episode-{left.id}"')
    live, waiting = page.split("Waiting for a player")
    assert 'data-tone="live"' in live
    assert "waiting for the player" in waiting
    assert 'data-tone="live"' not in waiting
    assert "waiting for the player" in client.get(left.get_absolute_url()).content.decode()
    assert 'data-idle-after="60"' in client.get(played.get_absolute_url()).content.decode()


@pytest.mark.parametrize(
    ("rules", "example"),
    [
        ("Write \\boxed{up} or \\boxed{down}.", "\\boxed{up}"),
        ("Answer in \\boxed{}, for example \\boxed{5}.", "\\boxed{5}"),
        ("Say \\boxed{say ...} or \\boxed{list}.", "\\boxed{list}"),
        ("Put the answer into \\boxed{}.", "\\boxed{…}"),
    ],
)
def test_an_example_of_an_action_is_taken_from_the_rules(rules: str, example: str) -> None:
    assert example_in(rules) == example
