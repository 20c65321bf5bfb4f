"""Taking the seat of an agent that plays live: what changes hands, what the agent reads, and where it counts."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db.models.functions import Now
from django.test import Client

from apps.accounts.models import User
from apps.episodes import handovers
from apps.episodes.errors import NotYourTurn, Refusal, Sealed, SeatTaken
from apps.episodes.models import Batch, Episode, Handover
from apps.episodes.replays.downloads import record_of
from apps.leases import LeaseLost
from apps.play import operations as play
from apps.play.models import Show
from apps.play.shows import operations as shows
from apps.play.shows import seats, show_leases
from apps.play.topics import EpisodeTopic
from apps.standings import games
from apps.standings.models import Game
from gem.agents import Decision
from tests.apps.agents import built_in
from tests.apps.play.people import Person
from tests.html import tight

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("long_leases")]
GUESS = "game:GuessTheNumber-v0-hard"


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def show(ada: User) -> Episode:
    return shows.start(GUESS, built_in("random"), seed=7, pace=0.1, user=ada)


def box(guess: int) -> str:
    return f"\\boxed{{{guess}}}"


def claim(episode: Episode) -> uuid.UUID:
    """Let a host own the show, whose next turn is due."""
    Show.objects.filter(pk=episode.pk).update(next_turn_at=None)
    token = uuid.uuid4()
    assert show_leases.claim(token, 10, showcase=False) == [episode.pk]
    return token


def agent_plays(episode: Episode, guess: int) -> None:
    """Let a host play a turn as `workers.play` does, with the notes that the agent reads."""
    token = claim(episode)
    start = show_leases.begin_again(episode.pk)
    told = start.told.get(0, "")
    Show.objects.filter(pk=episode.pk).update(next_turn_at=None)
    taken = show_leases.take_turn(
        episode.pk, token, start.env, start.episode.turn_count + 1, Decision(box(guess)), told=told
    )
    assert isinstance(taken, show_leases.Taken)
    show_leases.release(token)


def person_plays(episode: Episode, guess: int, user: User) -> None:
    seq = Episode.objects.get(pk=episode.pk).seq
    play.take_turn(episode.pk, box(guess), expected_seq=seq, user=user, visitor="")


def test_a_person_plays_some_turns_and_the_agent_goes_on_after_them(show: Episode, ada: User) -> None:
    agent_plays(show, 25)
    seats.take(show.pk, None, user=ada, visitor="")
    assert show_leases.claim(uuid.uuid4(), 10, showcase=False) == []  # the agent waits
    person_plays(show, 12, ada)
    person_plays(show, 6, ada)
    seats.hand_back(show.pk, user=ada, visitor="")
    agent_plays(show, 3)
    turns = list(show.turns.all())
    assert [(turn.extra or {}).get("by") for turn in turns] == [None, "person", "person", None]
    assert [turn.seat for turn in turns] == [0] * 4
    seat = show.seats.get()
    assert (seat.agent.slug, seat.user, seat.is_taken) == ("random", None, False)
    show.refresh_from_db()
    assert show.taken_over
    assert [(each.kind, each.after) for each in show.handovers.all()] == [("taken", 1), ("returned", 3)]


def test_the_agent_reads_the_note_before_its_next_observation_and_never_again_anew(show: Episode, ada: User) -> None:
    agent_plays(show, 25)
    seats.take(show.pk, None, user=ada, visitor="")
    person_plays(show, 12, ada)
    person_plays(show, 6, ada)
    seats.leave_note(show.pk, "  Go\nlower. ", user=ada, visitor="")
    seats.hand_back(show.pk, "By one.", user=ada, visitor="")
    told = show_leases.begin_again(show.pk).told[0]
    assert told == (
        "[From a person who held your seat for turns 2 to 3] Go lower.\n\n"
        "[From a person who held your seat for turns 2 to 3] By one."
    )
    assert handovers.before(told, "x").endswith("By one.\n\nx")
    agent_plays(show, 3)
    assert (show.turns.get(number=4).extra or {})["told"] == told
    assert show_leases.begin_again(show.pk).told == {}
    past = show_leases._past(Episode.objects.get(pk=show.pk))[0]
    assert past[3].observation.startswith("[From a person")
    assert [exchange.action for exchange in past] == [box(guess) for guess in (25, 12, 6, 3)]
    assert set(show.handovers.filter(kind="note").values_list("read_in", flat=True)) == {4}


def test_a_note_that_is_sent_twice_is_left_once(show: Episode, ada: User) -> None:
    def notes() -> int:
        return show.handovers.filter(kind=Handover.Kind.NOTE).count()

    seats.take(show.pk, 0, user=ada, visitor="")
    for _ in range(2):
        seats.leave_note(show.pk, "Go lower.", user=ada, visitor="")
    assert notes() == 1
    seats.leave_note(show.pk, "Go much lower.", user=ada, visitor="")
    assert notes() == 2
    seats.hand_back(show.pk, user=ada, visitor="")
    agent_plays(show, 3)
    seats.take(show.pk, 0, user=ada, visitor="")
    seats.leave_note(show.pk, "Go lower.", user=ada, visitor="")
    assert notes() == 3, "the agent has read the first one"


@pytest.mark.parametrize("played", [[], [12]])
def test_a_note_says_which_turns_the_person_had(show: Episode, ada: User, played: list[int]) -> None:
    seats.take(show.pk, None, user=ada, visitor="")
    for guess in played:
        person_plays(show, guess, ada)
    seats.hand_back(show.pk, "Think.", user=ada, visitor="")
    told = show_leases.begin_again(show.pk).told[0]
    words = "held your seat for turn 1" if played else "took your seat before turn 1"
    assert told == f"[From a person who {words}] Think."


def test_a_decision_that_was_under_way_is_not_played(show: Episode, ada: User) -> None:
    token = claim(show)
    start = show_leases.begin_again(show.pk)
    seats.take(show.pk, None, user=ada, visitor="")
    with pytest.raises(LeaseLost):
        show_leases.take_turn(show.pk, token, start.env, 1, Decision(box(25)))
    seats.hand_back(show.pk, user=ada, visitor="")
    with pytest.raises(LeaseLost):
        show_leases.take_turn(show.pk, token, start.env, 1, Decision(box(25)))
    assert not show.turns.exists()


def test_nobody_takes_a_seat_that_is_not_to_be_had(show: Episode, ada: User) -> None:
    bob = User.objects.create_user("bob")
    with pytest.raises(NotYourTurn):
        seats.hand_back(show.pk, user=ada, visitor="")
    seats.take(show.pk, 0, user=ada, visitor="")
    assert seats.take(show.pk, 0, user=ada, visitor="").handovers.count() == 1  # it changes nothing
    with pytest.raises(SeatTaken):
        seats.take(show.pk, 0, user=bob, visitor="")
    for text in (" ", "x" * 501):
        with pytest.raises(seats.NoteRefused):
            seats.leave_note(show.pk, text, user=ada, visitor="")
    for act in (play.undo, play.abandon):
        with pytest.raises(Refusal, match="seat"):
            act(show.pk, user=ada, visitor="")
    shows.stop(show.pk)
    for act in (seats.take, seats.hand_back):
        with pytest.raises(Refusal):
            act(show.pk, *([0] if act is seats.take else []), user=ada, visitor="")  # type: ignore[operator]


def test_a_ranked_seed_is_left_to_its_agent(show: Episode, ada: User) -> None:
    Episode.objects.filter(pk=show.pk).update(batch=Batch.objects.create(kind=Batch.Kind.RANKED, closed=True))
    with pytest.raises(Sealed):
        seats.take(show.pk, None, user=ada, visitor="")
    assert not Handover.objects.exists()


def test_two_agents_play_and_a_person_takes_one_of_their_seats(ada: User) -> None:
    show = shows.start("duel:KuhnPoker-v0", built_in("random"), opponent=built_in("random"), seed=7, user=ada)
    acting = show.acting
    seats.take(show.pk, 1 - acting, user=ada, visitor="")
    with pytest.raises(Refusal):
        play.take_turn(show.pk, "\\boxed{check}", expected_seq=1, user=ada, visitor="")
    assert show_leases.claim(uuid.uuid4(), 1, showcase=False)  # the other agent has to act
    seats.leave_note(show.pk, "I had the king.", user=ada, visitor="")
    data, _ = record_of(Episode.objects.get(pk=show.pk), -1, AnonymousUser())
    assert [each["text"] for each in data["handovers"]] == ["", ""]
    data, _ = record_of(Episode.objects.get(pk=show.pk), 1 - acting, ada)
    assert data["handovers"][1]["text"] == "I had the king."
    with pytest.raises(Refusal, match="no seat 9"):
        seats.take(show.pk, 8, user=ada, visitor="")


# ---------------------------------------------------------------- pages


def test_the_page_of_the_seat_and_what_everybody_else_sees() -> None:
    person, other = Person(), Client()
    start = {"env_id": GUESS, "seed": "7", "agent": "random", "pace": "1"}
    address = person.client.post("/play/watch/new/", start)["Location"]
    episode = Episode.objects.get(pk=address.split("/")[2])
    assert "Take the seat" in tight(person.client.get(address))
    assert other.post(f"/play/{episode.pk}/take-seat/").status_code == 403
    assert person.client.post(f"/play/{episode.pk}/take-seat/")["Location"] == address
    page = tight(person.client.get(address))
    for part in ("have the seat", "Hand back now", "A note for the agent", "not ranked", "reads no notes"):
        assert part in page
    assert "Give up" not in page
    assert person.send(episode, box(12)).status_code == 200
    watched = tight(other.get(address))
    for part in ("A person has the seat of random", "A person took the seat</b> before turn 1", 'data-by="person"'):
        assert part in watched
    assert other.post(f"/play/{episode.pk}/note/", {"text": "x"}).status_code == 403
    sent = {"text": "Halve it.", "then": "back"}
    assert person.client.post(f"/play/{episode.pk}/note/", sent)["Location"] == address
    watched = tight(other.get(address))
    assert "A note for the agent</b>: Halve it." in watched
    assert "A person has the seat" not in watched
    agent_plays(episode, 25)
    shows.stop(episode.pk)
    replay = tight(other.get(address))
    assert "strip-person" in replay
    assert "by a person" in replay
    assert "read before turn 2" in replay
    assert "Read before this turn" in tight(other.get(f"{address}turns/2/"))


def test_such_an_episode_counts_in_no_rating(ada: User) -> None:
    counted, taken = (
        shows.start("duel:TicTacToe-v0", built_in("random"), opponent=built_in("expert"), seed=seed, user=ada)
        for seed in (7, 8)
    )
    seats.take(taken.pk, None, user=ada, visitor="")
    seats.hand_back(taken.pk, user=ada, visitor="")
    for episode in (counted, taken):
        Episode.objects.filter(pk=episode.pk).update(status=Episode.Status.ENDED, ended=Now())
    games.collect()
    assert list(Game.objects.values_list("episode", flat=True)) == [counted.pk]


def test_others_hear_of_it_at_once(show: Episode, ada: User) -> None:
    before = Episode.objects.get(pk=show.pk).seq
    seats.take(show.pk, None, user=ada, visitor="")
    (event,) = EpisodeTopic().events(show.pk, before, "watch")
    html: Any = tight(event.html)
    assert "A person has the seat of random" in html
    assert "turn-note" in html
