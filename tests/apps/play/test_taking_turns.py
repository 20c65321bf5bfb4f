"""Turns by POST: what they change, and what is refused without losing anything."""

import pytest
from django.test import Client, override_settings

from apps.accounts.models import User
from apps.episodes.models import Episode, Seat
from apps.play.starting import limits
from tests.apps.play.people import BOX, Person, notice
from tests.html import tight

GUESS = "game:GuessTheNumber-v0-hard"
MINES = "game:Minesweeper-v0-easy"

pytestmark = pytest.mark.django_db


@pytest.fixture
def person() -> Person:
    return Person()


def test_a_visitor_plays_without_an_account(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    answer = person.send(episode, BOX % 25)
    episode.refresh_from_db()
    turn = episode.turns.get()
    assert answer.status_code == 200
    assert (episode.seed, episode.turn_count, episode.seq) == (7, 1, 1)
    assert (turn.number, turn.action, turn.seq) == (1, "\\boxed{25}", 1)
    assert 'id="board"' in answer.content.decode()
    assert 'id="t1"' in answer.content.decode()


def test_a_page_with_an_open_socket_is_drawn_by_the_socket_alone(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    person.page(episode)
    data = {"action": BOX % 25, "expected_seq": 0}
    answer = person.client.post(f"/play/{episode.id}/turn/", data, headers={"HX-Request": "true", "Live-Page": "1"})
    assert (answer.status_code, answer.content, answer["Episode-Seq"]) == (204, b"", "1")
    answer = person.client.post(f"/play/{episode.id}/turn/", data, headers={"HX-Request": "true", "Live-Page": "1"})
    assert answer.status_code == 409
    assert 'id="expected-seq"' in answer.content.decode()


def test_a_cell_plays_without_scripts(person: Person) -> None:
    episode = person.begin(MINES, 5)
    assert 'name="act" value="\\boxed{reveal 0 0}"' in person.page(episode)
    answer = person.send(episode, "", act=BOX % "reveal 0 0", htmx=False)
    assert answer.status_code == 302
    assert answer["Location"] == episode.get_absolute_url()
    assert episode.turns.get().action == "\\boxed{reveal 0 0}"


def test_a_reload_shows_the_board_where_it_was(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    person.send(episode, BOX % 25)
    page = person.page(episode)
    assert "25: guessed, too" in page
    assert 'id="expected-seq" value="1"' in page


def test_a_late_turn_is_told_what_happened_meanwhile(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    person.send(episode, BOX % 25, seq=0)
    answer = person.send(episode, BOX % 30, seq=0)
    assert answer.status_code == 409
    assert "Turn 1 has been played in another window" in notice(answer)
    assert 'id="expected-seq" name="expected_seq" form="say" value="1"' in tight(answer)
    assert episode.turns.count() == 1


def test_a_late_turn_keeps_its_text_without_scripts(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    person.send(episode, BOX % 25, seq=0)
    answer = person.send(episode, BOX % 30, seq=0, htmx=False)
    assert answer.status_code == 409
    assert "\\boxed{30}</textarea>" in answer.content.decode()


def test_a_turn_after_the_end_is_refused(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    person.send(episode, "nothing in a box", as_written="1")
    episode.refresh_from_db()
    assert episode.over
    answer = person.send(episode, BOX % 3)
    assert answer.status_code == 409
    assert "The episode is over" in notice(answer)
    assert person.send(episode, BOX % 3, htmx=False).status_code == 409
    assert episode.turns.count() == 1


def test_the_end_offers_what_may_follow(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    answer = tight(person.send(episode, "nothing in a box", as_written="1"))
    assert "Not solved." in answer
    assert "Play this seed again" in answer
    assert "Watch the expert on this seed" in answer
    assert 'id="acting" hx-swap-oob="true"></div>' in answer


def test_only_who_sits_there_may_play(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    answer = Person().send(episode, BOX % 25)
    assert answer.status_code == 403
    assert episode.turns.count() == 0


def test_an_account_keeps_its_seat_in_another_browser() -> None:
    user = User.objects.create_user("ada", password="a-long-password-1")
    first, second = Client(), Client()
    first.force_login(user)
    second.force_login(user)
    episode = Person(first).begin(GUESS, 7)
    assert Person(second).send(episode, BOX % 25).status_code == 200
    assert episode.seats.get().user == user


def test_a_text_that_cannot_be_read_is_asked_about_first(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    answer = person.send(episode, "25")
    assert answer.status_code == 422
    assert "finds no action in this text" in notice(answer)
    assert 'value="\\boxed{25}"' in answer.content.decode()
    assert episode.turns.count() == 0
    assert person.send(episode, "25", as_written="1").status_code == 200
    episode.refresh_from_db()
    assert episode.turns.get().reward == pytest.approx(-0.1)
    assert episode.outcome == Episode.Outcome.LOST


def test_an_empty_field_plays_nothing(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    answer = person.send(episode, "   ")
    assert answer.status_code == 422
    assert "The field is empty" in notice(answer)
    assert episode.turns.count() == 0


@pytest.mark.parametrize("seq", ["", "x", "-1", "9" * 400, "9" * 5000, "٣"])
def test_a_page_that_says_no_turn_is_refused(person: Person, seq: str) -> None:
    episode = person.begin(GUESS, 7)
    answer = person.send(episode, BOX % 25, seq=seq)
    assert answer.status_code == 400
    assert "Reload the page and send again" in notice(answer)
    assert episode.turns.count() == 0


def test_ten_megabytes_are_refused_before_they_are_read(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    answer = person.send(episode, "x" * 10_000_000)
    assert answer.status_code == 413
    assert "An action can have at most 64 KiB" in notice(answer)
    page = person.send(episode, "x" * 10_000_000, htmx=False)
    assert page.status_code == 413
    assert "An action can have at most 64 KiB" in page.content.decode()
    assert episode.turns.count() == 0


def test_an_action_a_little_too_long_says_how_long_it_is(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    answer = person.send(episode, BOX % 25 + "x" * 65_536)
    assert answer.status_code == 413
    assert "this one has 65 KiB" in notice(answer)
    assert person.send(episode, BOX % 25 + "x" * 60_000).status_code == 200


def test_the_size_is_checked_before_csrf_and_csrf_still_holds() -> None:
    strict = Person(Client(enforce_csrf_checks=True))
    episode = Person().begin(GUESS, 7)
    assert strict.send(episode, BOX % 25).status_code == 403
    assert strict.send(episode, "x" * 10_000_000).status_code == 413


def test_nul_and_half_characters_keep_their_meaning(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    answer = person.send(episode, "a\0b \\boxed{25}")
    assert answer.status_code == 200
    turn = episode.turns.get()
    assert turn.action == "a␀b \\boxed{25}"
    assert turn.replaced.startswith("1 NUL character became ␀")
    assert "1 NUL character became ␀" in answer.content.decode()
    raw = b"expected_seq=1&action=%ED%A0%80%5Cboxed%7B26%7D"
    sent = person.client.post(
        f"/play/{episode.id}/turn/",
        raw,
        content_type="application/x-www-form-urlencoded",
        headers={"HX-Request": "true"},
    )
    assert sent.status_code == 200
    assert episode.turns.get(number=2).action.endswith("\\boxed{26}")


def test_there_is_a_page_for_an_episode_that_is_not_there(person: Person) -> None:
    answer = person.client.post("/play/nosuchone/turn/", {"action": "x", "expected_seq": "0"})
    assert answer.status_code == 404


def test_a_hint_is_what_the_expert_would_do(person: Person) -> None:
    episode = person.begin(MINES, 5)
    person.send(episode, BOX % "reveal 0 0")
    answer = person.client.get(f"/play/{episode.id}/hint/", headers={"HX-Request": "true"}).content.decode()
    assert "The expert would send" in answer
    assert answer.count("data-hint") == 1
    assert "The expert would send" in person.client.get(f"/play/{episode.id}/hint/").content.decode()
    assert episode.turns.count() == 1


def test_undo_goes_on_in_a_branch_and_keeps_the_old_turn(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    person.send(episode, BOX % 25)
    person.send(episode, BOX % 30)
    answer = person.client.post(f"/play/{episode.id}/undo/")
    branch = Episode.objects.get(parent=episode)
    episode.refresh_from_db()
    assert answer["Location"] == branch.get_absolute_url()
    assert (branch.turn_count, branch.parent_turn, branch.status) == (1, 1, Episode.Status.RUNNING)
    assert (episode.turn_count, episode.status) == (2, Episode.Status.ABANDONED)
    assert person.send(branch, BOX % 31).status_code == 200


@override_settings(STARTS_PER_MINUTE=1)
def test_who_undoes_too_many_turns_is_told_when_to_come_back(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    for _ in range(limits.UNDOS_PER_START):
        person.send(episode, r"\boxed{1}")
        assert person.client.post(f"/play/{episode.id}/undo/").status_code == 302
        episode = Episode.objects.get(parent=episode)
    person.send(episode, r"\boxed{1}")
    answer = person.client.post(f"/play/{episode.id}/undo/")
    assert (answer.status_code, "Nothing was undone" in answer.content.decode()) == (429, True)
    assert not Episode.objects.filter(parent=episode).exists()


def test_a_guest_keeps_their_name_in_a_branch(person: Person) -> None:
    person.client.post("/play/name/", {"name": "Grace"})
    episode = person.begin(GUESS, 7)
    person.send(episode, r"\boxed{1}")
    person.client.post(f"/play/{episode.id}/undo/")
    assert [seat.name for seat in Seat.objects.order_by("episode__created")] == ["Grace", "Grace"]


def test_undo_before_the_first_turn_is_refused(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    assert person.client.post(f"/play/{episode.id}/undo/").status_code == 409
    assert Episode.objects.count() == 1


def test_giving_up_ends_without_a_result(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    assert person.client.post(f"/play/{episode.id}/abandon/").status_code == 302
    episode.refresh_from_db()
    assert (episode.outcome, episode.success) == (Episode.Outcome.ABANDONED, None)
    assert person.client.post(f"/play/{episode.id}/abandon/").status_code == 409


def test_anybody_forks_from_any_turn(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    for guess in (25, 30, 35):
        person.send(episode, BOX % guess)
    other = Person()
    answer = other.client.post(f"/play/{episode.id}/fork/", {"turn": "2"})
    branch = Episode.objects.get(parent=episode)
    assert answer["Location"] == branch.get_absolute_url()
    assert [turn.action for turn in branch.turns.all()] == ["\\boxed{25}", "\\boxed{30}"]
    assert other.send(branch, BOX % 40).status_code == 200
    assert person.send(branch, BOX % 41).status_code == 403


@pytest.mark.parametrize("turn", ["", "x", "-1", "99", "9" * 30])
def test_a_fork_from_a_turn_that_is_not_there_is_refused(person: Person, turn: str) -> None:
    episode = person.begin(GUESS, 7)
    answer = person.client.post(f"/play/{episode.id}/fork/", {"turn": turn})
    assert answer.status_code == 404
    assert Episode.objects.count() == 1


@pytest.mark.parametrize("change", [{"env_version": 99}, {"env_id": "game:Gone-v0"}])
def test_an_environment_that_has_changed_is_explained_and_nothing_is_lost(
    person: Person, change: dict[str, int]
) -> None:
    episode = person.begin(GUESS, 7)
    person.send(episode, BOX % 25)
    Episode.objects.filter(pk=episode.pk).update(**change)
    answer = person.send(episode, BOX % 30)
    assert answer.status_code == 409
    assert "The recorded turns can still be read here" in notice(answer)
    for path in (f"/episodes/{episode.id}/", f"/play/{episode.id}/hint/", f"/play/{episode.id}/undo/"):
        verb = person.client.post if path.endswith("undo/") else person.client.get
        assert verb(path).status_code in {200, 302, 409}
    assert episode.turns.count() == 1
