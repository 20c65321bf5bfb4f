"""Turns in a slow environment: accepted at once, played by a host, recorded once, whatever happens to the host."""

import re
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from apps.agents.models import Agent
from apps.episodes.models import Episode, PendingTurn
from apps.episodes.replays.replay_frames import replay_frames
from apps.episodes.restore import restore
from apps.play.shows import operations as shows
from gemweb.local.process import Running
from tests.apps.play.people import BOX, Person, notice
from tests.live import slow
from tests.live.processes import WAIT_SECONDS, Fleet, wait_for
from tests.live.slow import BREAKS, ENV_ID, HANGS, KILLS, LATE, Laboratory

Agents = dict[str, Agent]


@pytest.fixture(autouse=True)
def _laboratory() -> Iterator[None]:
    with slow.registered():
        yield


@pytest.fixture
def person(agents: Agents) -> Person:
    return Person()


@pytest.fixture
def episode(person: Person) -> Episode:
    return person.begin(ENV_ID, 7)


def host(fleet: Fleet, **more: str) -> Running:
    return fleet.host("tests.live.slow", **more)


def turns_of(episode: Episode) -> list[str]:
    return list(episode.turns.order_by("number").values_list("action", flat=True))


def comes_back(episode: Episode, turns: int = 1, seconds: float = WAIT_SECONDS) -> None:
    wait_for(lambda: len(turns_of(episode)) == turns, f"{turns} turns", seconds)


def problem(episode: Episode) -> str:
    return PendingTurn.objects.filter(episode=episode).values_list("problem", flat=True).first() or ""


# ---------------------------------------------------------------- accepting


def test_a_turn_is_accepted_and_the_web_process_does_not_play_it(person: Person, episode: Episode) -> None:
    answer = person.send(episode, BOX % 25)
    assert answer.status_code == 202
    assert "Turn 1 is being played" in answer.content.decode()
    assert "data-pending" in person.page(episode)
    assert (turns_of(episode), Laboratory.stepped) == ([], 0)
    assert PendingTurn.objects.get().action == BOX % 25


def test_a_page_with_an_open_socket_gets_no_board_with_the_answer(person: Person, episode: Episode) -> None:
    data = {"action": BOX % 25, "expected_seq": 0}
    answer = person.client.post(f"/play/{episode.id}/turn/", data, headers={"HX-Request": "true", "Live-Page": "1"})
    assert (answer.status_code, answer.content, answer["Episode-Seq"]) == (202, b"", "1")


@pytest.mark.parametrize("seq", [0, None])
def test_a_second_turn_is_refused_while_one_is_played(person: Person, episode: Episode, seq: int | None) -> None:
    person.send(episode, BOX % 25)
    answer = person.send(episode, BOX % 26, seq=seq)
    assert answer.status_code == 409
    assert PendingTurn.objects.get().action == BOX % 25


def test_an_action_that_cannot_be_read_is_asked_about_before_it_is_accepted(person: Person, episode: Episode) -> None:
    answer = person.send(episode, "25")
    assert answer.status_code == 422
    assert not PendingTurn.objects.exists()


def test_without_scripts_the_page_says_that_the_turn_is_played(person: Person, episode: Episode) -> None:
    answer = person.send(episode, BOX % 25, htmx=False)
    assert answer["Location"] == episode.get_absolute_url()
    assert "Turn 1 is being played" in person.page(episode)
    assert "Turn 1 is being played" in Person().page(episode)


def test_a_person_has_a_number_of_turns_under_way(person: Person, settings: object) -> None:
    settings.TURNS_WAITING_PER_PERSON = 2  # type: ignore[attr-defined]
    episodes = [person.begin(ENV_ID, seed) for seed in range(3)]
    answers = [person.send(one, BOX % 25).status_code for one in episodes]
    assert answers == [202, 202, 429]
    assert Person().send(episodes[2], BOX % 25).status_code == 403


def test_giving_up_takes_the_turn_back_and_undo_waits_for_it(person: Person, episode: Episode) -> None:
    person.send(episode, BOX % 25)
    assert person.client.post(f"/play/{episode.id}/undo/").status_code == 409
    assert person.client.post(f"/play/{episode.id}/abandon/").status_code == 302
    assert not PendingTurn.objects.exists()


# ---------------------------------------------------------------- playing


def test_a_host_plays_it_and_the_episode_goes_on_to_its_end(
    fleet: Fleet, person: Person, episode: Episode, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    host(fleet, LABORATORY_CLOSED=str(closed))
    for number in range(1, 13):
        assert person.send(episode, BOX % number).status_code == 202
        comes_back(episode, number)
    episode.refresh_from_db()
    assert (episode.outcome, episode.turn_count, Laboratory.stepped) == (Episode.Outcome.LIMIT, 12, 0)
    assert turns_of(episode) == [BOX % number for number in range(1, 13)]
    assert not PendingTurn.objects.exists()
    wait_for(lambda: len(closed.read_text().splitlines()) == 12, "every environment that was made to be closed")


def test_replay_fork_and_undo_take_the_states_that_were_kept(fleet: Fleet, person: Person, episode: Episode) -> None:
    host(fleet)
    for number, guess in enumerate((25, 30, 35), start=1):
        person.send(episode, BOX % guess)
        comes_back(episode, number)
    for number in range(4):
        assert person.client.get(f"/episodes/{episode.id}/turns/{number}/").status_code == 200
        board = str(replay_frames(Episode.objects.get(pk=episode.pk), number, number, 0)[0].view)
        assert ("25: guessed" in board, "30: guessed" in board) == (number >= 1, number >= 2)
    person.client.post(f"/play/{episode.id}/fork/", {"turn": "2"})
    branch = Episode.objects.get(parent=episode)
    assert turns_of(branch) == [BOX % 25, BOX % 30]
    person.send(branch, BOX % 40)
    comes_back(branch, 3)
    person.client.post(f"/play/{branch.id}/undo/")
    assert turns_of(Episode.objects.get(parent=branch)) == [BOX % 25, BOX % 30]
    assert restore(Episode.objects.get(pk=branch.pk)).turn == 3  # type: ignore[attr-defined]
    assert Laboratory.stepped == 0


def test_a_page_leaves_the_verification_to_a_worker(person: Person, episode: Episode) -> None:
    answer = person.client.post(f"/episodes/{episode.id}/verify/", headers={"HX-Request": "true"})
    assert "It is 1st in the queue" in answer.content.decode()
    assert Laboratory.stepped == 0


def test_the_states_are_in_no_download(fleet: Fleet, person: Person, episode: Episode) -> None:
    host(fleet)
    person.send(episode, BOX % 25)
    comes_back(episode)
    for path in ("episode.json", "episode.jsonl", "turns/1/raw.json"):
        text = person.client.get(f"/episodes/{episode.id}/{path}").content.decode()
        assert text
        assert not re.search(r'"(secret|rng|state)"', text)


def test_an_agent_plays_it_live_without_holding_the_episode(fleet: Fleet, agents: Agents, tmp_path: Path) -> None:
    show = shows.start(ENV_ID, agents["random"], seed=3, pace=0.1, visitor="v")
    host(fleet, LABORATORY_CLOSED=str(tmp_path / "closed"))
    wait_for(lambda: len(turns_of(show)) >= 2, "two turns")
    shows.pause(show.id)
    paused_at = len(turns_of(show))
    time.sleep(2)
    assert len(turns_of(show)) <= paused_at + 1  # the one that was being played
    shows.resume(show.id)
    wait_for(lambda: Episode.objects.get(pk=show.pk).over, "the end")
    assert Laboratory.stepped == 0
    show.refresh_from_db()
    assert show.status == Episode.Status.ENDED, show.failure
    assert len(turns_of(show)) == show.turn_count
    wait_for((tmp_path / "closed").exists, "its environment to be closed")


# ---------------------------------------------------------------- what goes wrong


def test_an_environment_that_breaks_is_explained_and_the_turn_can_be_sent_again(
    fleet: Fleet, person: Person, episode: Episode
) -> None:
    host(fleet)
    person.send(episode, BREAKS)
    wait_for(lambda: problem(episode), "the problem")
    assert "OSError: the beaker is broken" in problem(episode)
    page = person.page(episode)
    assert "Turn 1 was not played." in page
    assert "Try turn 1 again" in page
    assert "was not played" not in Person().page(episode)
    episode.refresh_from_db()
    assert (episode.status, turns_of(episode)) == (Episode.Status.RUNNING, [])
    assert person.send(episode, BOX % 25).status_code == 202
    comes_back(episode)
    assert "was not played" not in person.page(episode)


def test_an_environment_that_hangs_is_left_after_a_while_and_others_go_on(
    fleet: Fleet, person: Person, episode: Episode
) -> None:
    host(fleet, TURN_SECONDS="1.5")
    person.send(episode, HANGS)
    other = person.begin(ENV_ID, 8)
    person.send(other, BOX % 25)
    comes_back(other)
    wait_for(lambda: problem(episode), "the problem")
    assert "did not answer within 1.5 s" in problem(episode)
    assert turns_of(episode) == []


def test_an_answer_that_comes_after_giving_up_is_not_recorded(fleet: Fleet, person: Person, episode: Episode) -> None:
    host(fleet)
    person.send(episode, LATE)
    wait_for(lambda: PendingTurn.objects.filter(lease_token__isnull=False).exists(), "a host")
    person.client.post(f"/play/{episode.id}/abandon/")
    other = person.begin(ENV_ID, 8)
    person.send(other, LATE)
    comes_back(other)
    assert turns_of(episode) == []


@pytest.mark.fault
def test_a_killed_host_is_followed_by_another_and_the_turn_is_played_once(
    fleet: Fleet, person: Person, episode: Episode
) -> None:
    for number in range(1, 4):
        first = host(fleet)
        assert person.send(episode, LATE).status_code == 202
        wait_for(lambda: PendingTurn.objects.filter(lease_token__isnull=False).exists(), "a host")
        first.signal(signal.SIGKILL)
        second = host(fleet)
        comes_back(episode, number, 40)
        second.signal(signal.SIGTERM)
    assert turns_of(episode) == [LATE] * 3
    assert restore(Episode.objects.get(pk=episode.pk)).turn == 3  # type: ignore[attr-defined]


@pytest.mark.fault
def test_a_turn_that_kills_its_hosts_is_given_up_and_the_episode_goes_on(
    fleet: Fleet, person: Person, episode: Episode
) -> None:
    person.send(episode, KILLS)
    for _ in range(4):
        running = host(fleet)
        wait_for(lambda running=running: running.ended() or problem(episode), "the host to die")
    assert "crashed 3 times" in problem(episode)
    person.send(episode, BOX % 25)
    comes_back(episode)


def test_a_notice_names_what_to_do(person: Person, episode: Episode) -> None:
    person.send(episode, BOX % 25)
    assert "Wait until the turn is done" in notice(person.send(episode, BOX % 26))
