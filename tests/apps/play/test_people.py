"""People who play with people: open seats in the lobby, names of guests, rematches, and the page of one's own games."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import AnonymousUser
from django.utils import timezone

from apps.accounts.models import User
from apps.episodes.models import Episode, Seat
from apps.play.models import GuestName, OpenInvitation, Rematch
from apps.play.people import lobby_seats
from tests.apps.play.people import BOX, Person
from tests.html import tight

pytestmark = pytest.mark.django_db
TICTACTOE, GUESS = "duel:TicTacToe-v0", "game:GuessTheNumber-v0-easy"


def offered(person: Person, seat: str = "0") -> Episode:
    return person.begin(TICTACTOE, opponent="anybody", seat=seat)


def lobby(person: Person) -> str:
    return tight(person.client.get("/play/watch/"))


# ---------------------------------------------------------------- open seats


def test_an_open_seat_stands_in_the_lobby_of_others_and_whoever_takes_it_plays() -> None:
    host, guest = Person(), Person()
    episode = offered(host)
    assert "Waiting for an opponent" in host.page(episode)
    assert "Looking for an opponent" not in lobby(host), "it is their own"
    assert "Looking for an opponent" in lobby(guest)
    assert "Take the seat" not in host.page(episode)
    joined = guest.begin(TICTACTOE, opponent="anybody")
    assert joined.pk == episode.pk, "who looks for an opponent gets the one who waits"
    assert not OpenInvitation.objects.exists()
    assert "Looking for an opponent" not in lobby(Person())
    assert [seat.is_free for seat in episode.seats.order_by("number")] == [False, False]


def test_seats_that_nobody_may_see_leave_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lobby_seats, "MAX_LISTED", 1)
    host = Person()
    for _ in range(2):
        hidden = offered(host)
        Episode.objects.filter(pk=hidden.pk).update(visibility="private")
    episode = offered(Person())
    assert [seat.episode for seat in lobby_seats.open_seats(AnonymousUser(), "")] == [episode]


def test_a_seat_is_offered_only_while_its_owner_waits_on_the_page() -> None:
    host, guest = Person(), Person()
    episode = offered(host)
    OpenInvitation.objects.update(seen=timezone.now() - timedelta(minutes=2))
    assert "Looking for an opponent" not in lobby(guest)
    assert host.client.post(f"/play/{episode.pk}/waiting/").status_code == 204
    assert "Looking for an opponent" in lobby(guest)
    assert guest.client.post(f"/play/{episode.pk}/waiting/").status_code == 403


def test_another_seat_than_the_free_one_or_a_closed_game_is_not_taken() -> None:
    episode = offered(Person(), seat="0")
    other = Person().begin(TICTACTOE, opponent="anybody", seat="0")
    assert other.pk != episode.pk
    Episode.objects.update(visibility="private")
    assert Person().begin(TICTACTOE, opponent="anybody", seat="1").pk not in (episode.pk, other.pk)


def test_only_a_public_seat_can_be_offered() -> None:
    answer = Person().client.post("/play/new/", {"env_id": TICTACTOE, "opponent": "anybody", "visibility": "private"})
    assert "The lobby lists only public episodes" in answer.content.decode()
    assert not Episode.objects.exists()


# ---------------------------------------------------------------- names


def test_a_guest_has_a_name_in_games_that_run_and_in_new_ones() -> None:
    host = Person()
    episode = offered(host)
    host.client.post("/play/name/", {"name": "  Ada   L. "})
    assert "Ada L. (guest)" in lobby(Person())
    assert "Ada L. (guest)" in Person().page(episode)
    later = host.begin(GUESS, 3)
    assert Seat.objects.get(episode=later).who == "Ada L. (guest)"
    host.client.post("/play/name/", {"name": ""})
    assert Seat.objects.get(episode=later).who == "human"
    assert not GuestName.objects.exists()


@pytest.mark.parametrize("name", ["Expert", "boss", "admin", "the Staff", "a\u202eb", "<b>", "x" * 25, "-", "a\nb" * 9])
def test_names_of_others_and_other_characters_are_refused(name: str) -> None:
    User.objects.create_user("Boss")
    person = Person()
    page = tight(person.client.post("/play/name/", {"name": name}, follow=True))
    assert "Choose another name" in page or "A name has 1 to 24" in page
    assert not GuestName.objects.exists()


def test_a_person_with_an_account_is_named_only_if_they_allow_it() -> None:
    user = User.objects.create_user("grace")
    person = Person()
    person.client.force_login(user)
    episode = person.begin(TICTACTOE, opponent="random", seat="0")
    assert "grace" not in Person().page(episode)
    User.objects.update(is_named=True)
    assert "grace" in Person().page(episode)
    assert person.client.post("/play/name/", {"name": "Ada"}, follow=True).status_code == 200
    assert not GuestName.objects.exists()


def test_a_name_is_forgotten_when_its_guest_logs_in() -> None:
    User.objects.create_user("grace", password="correct horse battery")
    person = Person()
    person.client.post("/play/name/", {"name": "Ada"})
    episode = person.begin(GUESS, 3)
    person.client.post("/account/login/", {"username": "grace", "password": "correct horse battery"})
    assert not GuestName.objects.exists()
    assert Seat.objects.select_related("user", "agent").get(episode=episode).who == "human"


def test_after_a_name_the_way_leads_back_but_not_to_another_site() -> None:
    person = Person()
    assert person.client.post("/play/name/", {"name": "Ada", "next": "/play/watch/"})["Location"] == "/play/watch/"
    for place in ("https://example.org/", "//example.org/", "\\\\example.org"):
        assert person.client.post("/play/name/", {"name": "Ada", "next": place})["Location"] == "/play/mine/"


# ---------------------------------------------------------------- rematches


def ended_game() -> tuple[Person, Person, Episode]:
    """Two people and their game, in which the first seat has won."""
    first, second = Person(), Person()
    episode = offered(first)
    assert second.begin(TICTACTOE, opponent="anybody").pk == episode.pk
    for number, cell in enumerate("14253"):
        (first, second)[number % 2].send(episode, BOX % cell)
    episode.refresh_from_db()
    assert episode.over
    return first, second, episode


def test_a_rematch_is_one_game_for_both_with_the_seats_exchanged() -> None:
    first, second, episode = ended_game()
    assert "Rematch" in first.page(episode)
    assert f"/play/{episode.pk}/rematch/" not in Person().page(episode)
    seq = episode.seq
    answer = second.client.post(f"/play/{episode.pk}/rematch/")
    again = Episode.objects.get(pk=Rematch.objects.get().episode_id)
    assert answer["Location"] == again.get_absolute_url()
    episode.refresh_from_db()
    assert episode.seq == seq + 1, "the page of the other person hears of it"
    assert "Go to the rematch" in first.page(episode)
    assert "Watch the rematch" in Person().page(episode)
    Episode.objects.filter(pk=again.pk).update(visibility="unlisted")
    assert again.pk not in Person().page(episode)
    assert again.pk in first.page(episode)
    assert first.client.post(f"/play/{episode.pk}/rematch/")["Location"] == again.get_absolute_url()
    assert [seat.visitor for seat in again.seats.order_by("number")] == [
        seat.visitor for seat in episode.seats.order_by("-number")
    ]
    assert second.send(again, BOX % "5").status_code in (200, 204)


def test_nobody_else_begins_a_rematch_and_none_before_the_end_or_against_an_agent() -> None:
    _, _, episode = ended_game()
    assert Person().client.post(f"/play/{episode.pk}/rematch/").status_code == 403
    person = Person()
    running = offered(person)
    assert person.client.post(f"/play/{running.pk}/rematch/").status_code == 400
    against_agent = person.begin(TICTACTOE, opponent="random", seat="0")
    person.client.post(f"/play/{against_agent.pk}/abandon/")
    assert person.client.post(f"/play/{against_agent.pk}/rematch/").status_code == 400
    assert not Rematch.objects.exists()


# ---------------------------------------------------------------- one's own games


def mine(person: Person, query: str = "") -> set[str]:
    page = person.client.get(f"/play/mine/{query}", headers={"HX-Request": "true"}).content.decode()
    assert "<h1" not in page
    return {key for key in Episode.objects.values_list("pk", flat=True) if f"/episodes/{key}/" in page}


def test_the_page_of_ones_games_has_ones_own_and_filters_them() -> None:
    first, second, game = ended_game()
    alone = first.begin(GUESS, 3)
    against = first.begin(TICTACTOE, opponent="random", seat="0")
    assert mine(first) == {game.pk, alone.pk, against.pk}
    assert mine(second) == {game.pk}
    assert mine(Person()) == set()
    assert mine(first, "?against=people") == mine(first, "?result=won") == {game.pk}
    assert mine(second, "?result=won") == set()
    assert mine(second, "?result=lost") == {game.pk}
    assert mine(first, "?against=agents") == {against.pk}
    assert mine(first, f"?env_id={GUESS}") == mine(first, "?against=alone") == {alone.pk}
    assert mine(first, "?result=running") == {alone.pk, against.pk}
    assert mine(first, "?result=nonsense&env_id=%00") == {game.pk, alone.pk, against.pk}
    page = tight(first.client.get("/play/mine/"))
    assert page.count("Your turn") == 2
    assert "Your name" in page
