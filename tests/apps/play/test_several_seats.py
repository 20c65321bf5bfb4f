"""Playing where there are several seats: whom against, whose turn it is, and what may be done when."""

import pytest

from apps.episodes import operations
from apps.episodes.errors import Sealed
from apps.episodes.models import Episode
from apps.episodes.restore import restore
from apps.play.models import Show
from apps.play.shows import show_leases
from apps.play.shows.operations import CannotPlay
from tests.apps.agents import built_in
from tests.apps.play.people import BOX, Person, notice
from tests.apps.play.seats import act_for_agents, pair
from tests.html import tight

TICTACTOE, DILEMMA = "duel:TicTacToe-v0", "duel:PrisonersDilemma-v0"
ONE_SEAT = "game:GuessTheNumber-v0-hard"

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("long_leases")]


@pytest.fixture
def person() -> Person:
    return Person()


def agents(episode: Episode) -> list[str]:
    return [seat.agent.slug for seat in episode.seats.select_related("agent").order_by("number")]


# ---------------------------------------------------------------- starting


def test_one_seat_is_asked_for_neither_opponent_nor_seat(person: Person) -> None:
    page = person.client.get("/play/new/", {"env_id": ONE_SEAT}).content.decode()
    assert "Against" not in page
    assert "Your seat" not in page
    page = person.client.get("/play/watch/new/", {"env_id": ONE_SEAT}).content.decode()
    assert "Second seat" not in page


def test_two_seats_are_asked_for_both(person: Person) -> None:
    page = person.client.get("/play/new/", {"env_id": TICTACTOE}).content.decode()
    assert "another person, by link" in page
    assert "Your seat" in page
    page = person.client.get("/play/watch/new/", {"env_id": TICTACTOE}).content.decode()
    assert "First seat" in page
    assert "Second seat" in page


def test_the_expert_is_proposed_where_there_is_one(person: Person) -> None:
    page = person.client.get("/play/new/", {"env_id": TICTACTOE}).content.decode()
    assert '<option value="expert" selected>' in page
    page = person.client.get("/play/watch/new/", {"env_id": "math:GSM8K"}).content.decode()
    assert '<option value="random" selected>' in page


@pytest.mark.parametrize(("seat", "expected"), [("0", ["human", "random"]), ("1", ["random", "human"])])
def test_the_person_gets_the_seat_that_was_chosen(person: Person, seat: str, expected: list[str]) -> None:
    assert agents(person.begin(TICTACTOE, 5, opponent="random", seat=seat)) == expected


def test_a_seat_that_nobody_chose_is_drawn(person: Person) -> None:
    drawn = {tuple(agents(person.begin(TICTACTOE, opponent="random"))) for _ in range(12)}
    assert drawn == {("human", "random"), ("random", "human")}, "one in 2,048 fails by chance"


def test_without_an_opponent_the_expert_is_one(person: Person) -> None:
    assert sorted(agents(person.begin(TICTACTOE))) == ["expert", "human"]


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"opponent": "nobody"}, "This opponent is not available"),
        ({"seat": "2"}, "There is no such seat"),
        ({"opponent": "person", "seed": "5"}, "the seed is random"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(person: Person, fields: dict[str, str], sentence: str) -> None:
    answer = person.client.post("/play/new/", {"env_id": TICTACTOE, **fields})
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not Episode.objects.exists()


def test_two_agents_play_for_those_who_watch(person: Person) -> None:
    fields = {"env_id": TICTACTOE, "agent": "expert", "opponent": "random", "pace": "0.5"}
    person.client.post("/play/watch/new/", fields)
    episode = Episode.objects.get()
    assert agents(episode) == ["expert", "random"]
    act_for_agents(episode)
    episode.refresh_from_db()
    assert episode.status == Episode.Status.ENDED
    assert {turn.seat for turn in episode.turns.all()} == {0, 1}
    assert operations.verify(episode) is None
    page = Person().page(episode)
    assert "First seat: " in page


def test_one_agent_plays_both_seats_unless_another_is_named(person: Person) -> None:
    person.client.post("/play/watch/new/", {"env_id": TICTACTOE, "agent": "random", "pace": "1"})
    assert agents(Episode.objects.get()) == ["random", "random"]


def test_an_agent_that_cannot_play_there_is_refused() -> None:
    from apps.play.shows import operations as shows

    with pytest.raises(CannotPlay, match="has one seat"):
        shows.start(ONE_SEAT, built_in("random"), opponent=built_in("random"))


# ---------------------------------------------------------------- against an agent


def test_the_agent_answers_a_persons_turn(person: Person) -> None:
    episode = person.begin(TICTACTOE, 5, opponent="expert", seat="0")
    assert "Your turn" in person.page(episode)
    person.send(episode, BOX % 5)
    episode.refresh_from_db()
    assert (episode.turn_count, episode.acting) == (1, 1)
    assert "Waiting for expert" in person.page(episode)
    act_for_agents(episode)
    episode.refresh_from_db()
    assert (episode.turn_count, episode.acting) == (2, 0)
    assert "Your turn" in person.page(episode)


def test_an_agent_in_the_first_seat_begins(person: Person) -> None:
    episode = person.begin(TICTACTOE, 5, opponent="expert", seat="1")
    assert "Your turn" not in person.page(episode)
    act_for_agents(episode)
    assert "Your turn" in person.page(episode)


def test_a_host_leaves_an_episode_alone_while_a_person_acts(person: Person) -> None:
    from uuid import uuid4

    episode = person.begin(TICTACTOE, 5, opponent="expert", seat="0")
    assert show_leases.claim(uuid4(), 10, showcase=False) == []
    person.send(episode, BOX % 5)
    token = uuid4()
    assert show_leases.claim(token, 10, showcase=False) == [episode.id]
    (plan,) = show_leases.plans(token, showcase=False)
    assert not plan.idle


def test_a_turn_is_refused_while_the_agent_acts(person: Person) -> None:
    episode = person.begin(TICTACTOE, 5, opponent="expert", seat="1")
    answer = person.send(episode, BOX % 5)
    assert answer.status_code == 409
    assert "It is not your turn" in notice(answer)
    assert "it is expert&#x27;s turn" in notice(answer)
    assert episode.turns.count() == 0


def test_undo_goes_back_to_before_the_persons_own_last_turn(person: Person) -> None:
    episode = person.begin(TICTACTOE, 5, opponent="expert", seat="0")
    person.send(episode, BOX % 1)
    act_for_agents(episode)
    person.client.post(f"/play/{episode.id}/undo/")
    branch = Episode.objects.get(parent=episode)
    assert (branch.turn_count, branch.acting) == (0, 0)
    assert agents(branch) == ["human", "expert"]
    assert "Your turn" in person.page(branch)
    person.send(branch, BOX % 5)
    act_for_agents(branch)
    assert branch.turns.count() == 2


def test_a_hint_is_for_ones_own_turn(person: Person) -> None:
    episode = person.begin(TICTACTOE, 5, opponent="random", seat="0")
    assert "The expert would send" in person.client.get(f"/play/{episode.id}/hint/").content.decode()
    person.send(episode, BOX % 5)
    answer = person.client.get(f"/play/{episode.id}/hint/", headers={"HX-Request": "true"})
    assert answer.status_code == 409
    assert "when it is your turn" in notice(answer)


def test_an_episode_is_played_to_its_end_and_verified(person: Person) -> None:
    episode = person.begin(TICTACTOE, 5, opponent="expert", seat="0")
    while not episode.over:
        person.send(episode, restore(episode).sample_random_action())
        act_for_agents(episode)
        episode.refresh_from_db()
    assert operations.verify(episode) is None
    seats = list(episode.seats.order_by("number"))
    assert seats[0].total_reward == -seats[1].total_reward
    assert not seats[0].success, "the expert does not lose"
    assert "Identical in all" in person.client.post(f"/episodes/{episode.id}/verify/").content.decode()


def test_giving_up_ends_it_for_both(person: Person) -> None:
    episode = person.begin(TICTACTOE, 5, opponent="expert", seat="1")
    person.client.post(f"/play/{episode.id}/abandon/")
    episode.refresh_from_db()
    assert episode.status == Episode.Status.ABANDONED
    act_for_agents(episode)
    assert episode.turns.count() == 0


def test_a_fork_after_the_end_takes_the_seat_that_acts_and_an_agent_the_other(person: Person) -> None:
    people, episode = pair(TICTACTOE)
    for turn, cell in enumerate((1, 4, 2, 5, 3)):
        people[turn % 2].send(episode, BOX % cell)
    person.client.post(f"/play/{episode.id}/fork/", {"turn": "3"})
    branch = Episode.objects.get(parent=episode)
    assert agents(branch) == ["expert", "human"]
    assert "Your turn" in person.page(branch)


def test_nobody_forks_or_finishes_an_episode_of_two_while_it_is_played(person: Person) -> None:
    episode = person.begin(TICTACTOE, 5, opponent="expert", seat="0")
    for verb in ("fork", "finish"):
        answer = Person().client.post(f"/play/{episode.id}/{verb}/", {"turn": "0"}, headers={"HX-Request": "true"})
        assert answer.status_code == Sealed.status
        assert "Fork the episode after it ends" in notice(answer)
    assert not Episode.objects.filter(parent=episode).exists()


def test_nobody_steers_an_episode_that_somebody_plays(person: Person) -> None:
    episode = person.begin(TICTACTOE, 5, opponent="expert", seat="0")
    for verb in ("pause", "stop"):
        assert person.client.post(f"/play/{episode.id}/control/{verb}/").status_code == 403
    assert not Show.objects.get(pk=episode.pk).paused


# ---------------------------------------------------------------- against another person


def test_the_first_who_opens_the_link_takes_the_seat(person: Person) -> None:
    episode = person.begin(TICTACTOE, opponent="person", seat="0")
    assert "The second seat is free" in person.page(episode)
    link, other, late = person.link(episode), Person(), Person()
    assert other.sit_down(link).status_code == 302
    assert "Your turn" not in other.page(episode)
    assert "seat is free" not in person.page(episode)
    answer = late.client.post(link)
    assert answer.status_code == 409
    assert "Somebody else has taken this seat" in answer.content.decode()
    assert 'name="action"' not in late.page(episode)


def test_a_link_that_was_used_says_so_and_leads_on(person: Person) -> None:
    episode = person.begin(TICTACTOE, opponent="person", seat="0")
    link, other = person.link(episode), Person()
    assert other.sit_down(link).status_code == 302
    late = Person().client.get(link)
    page = tight(late)
    assert late.status_code == 409
    assert "Somebody else has taken this seat. You can watch" in page
    assert "Take the seat" not in page
    assert f'href="{episode.get_absolute_url()}"' in page
    assert other.client.get(link).status_code == 302, "they have the seat"
    other.client.post(f"/play/{episode.pk}/abandon/")
    assert "Somebody else has taken this seat. You can replay it" in tight(Person().client.get(link))


def test_the_link_to_a_seat_that_nobody_took_ends_with_the_episode(person: Person) -> None:
    episode = person.begin(TICTACTOE, opponent="person", seat="0")
    link = person.link(episode)
    person.client.post(f"/play/{episode.pk}/abandon/")
    answer = Person().client.get(link)
    assert answer.status_code == 409
    assert "ended before anybody took this seat" in tight(answer)


def test_the_link_shows_a_private_episode_only_until_its_seat_is_taken(person: Person) -> None:
    episode = person.begin(TICTACTOE, opponent="person", seat="0", visibility="private")
    link, other = person.link(episode), Person()
    assert "Watch instead" not in tight(Person().client.get(link)), "they may not"
    assert other.sit_down(link).status_code == 302
    for answer in (Person().client.get(link), Person().client.post(link)):
        assert answer.status_code == 404
        assert "Somebody else has taken this seat" in tight(answer)
        assert episode.label not in tight(answer)


def test_the_own_link_leads_to_the_own_game_and_says_whom_it_is_for(person: Person) -> None:
    episode = person.begin(TICTACTOE, opponent="person", seat="0")
    answer = person.client.get(person.link(episode), follow=True)
    assert answer.redirect_chain == [(episode.get_absolute_url(), 302)]
    assert "Send the link to the person you want to play against" in tight(answer)


def test_opening_the_link_takes_no_seat(person: Person) -> None:
    episode = person.begin(TICTACTOE, opponent="person", seat="0")
    Person().client.get(person.link(episode))
    assert "The second seat is free" in person.page(episode)


def test_a_seat_is_not_taken_without_its_link(person: Person) -> None:
    episode = person.begin(TICTACTOE, opponent="person", seat="0")
    other = Person()
    for signature in ("x", person.link(episode).split("/")[-2][:-1] + "_"):
        assert other.client.post(f"/play/{episode.id}/seat/1/{signature}/").status_code == 404
    assert "/seat/" not in other.page(episode), "who only watches is not given the link"


def test_nobody_plays_against_themselves_by_the_link(person: Person) -> None:
    episode = person.begin(TICTACTOE, opponent="person", seat="0")
    answer = person.client.post(person.link(episode), follow=True)
    assert "You already have the other seat" in answer.content.decode()
    assert episode.seats.get(number=1).is_free


def test_one_may_begin_while_the_other_seat_is_free(person: Person) -> None:
    episode = person.begin(TICTACTOE, opponent="person", seat="0")
    person.send(episode, BOX % 5)
    answer = person.send(episode, BOX % 6)
    assert "is still free" in notice(answer)
    assert episode.turns.count() == 1


def test_two_people_play_to_the_end() -> None:
    people, episode = pair(TICTACTOE)
    for turn, cell in enumerate((1, 4, 2, 5, 3)):
        refused = people[1 - turn % 2].send(episode, BOX % 9)
        assert "it is the other person&#x27;s turn" in notice(refused)
        assert people[turn % 2].send(episode, BOX % cell).status_code == 200
    episode.refresh_from_db()
    assert episode.status == Episode.Status.ENDED
    assert [seat.success for seat in episode.seats.order_by("number")] == [True, False]
    assert "The first seat won" in people[1].page(episode)


def test_neither_hint_nor_undo_help_against_a_person() -> None:
    people, episode = pair(TICTACTOE)
    page = people[0].page(episode)
    assert "data-hint-button" not in page
    assert "data-undo" not in page
    people[0].send(episode, BOX % 5)
    answer = people[0].client.post(f"/play/{episode.id}/undo/", headers={"HX-Request": "true"})
    assert "cannot undo a turn" in notice(answer)
    assert people[1].client.get(f"/play/{episode.id}/hint/").status_code == 302


# ---------------------------------------------------------------- where all act at the same time


def test_who_comes_second_in_the_record_may_choose_first() -> None:
    people, episode = pair(DILEMMA)
    assert "Both are choosing" in Person().page(episode)
    assert people[1].send(episode, BOX % "betray").status_code == 200
    page = people[1].page(episode)
    assert "Your choice is sealed" in page
    assert 'name="act"' not in page, "nothing is left to choose"
    assert "has chosen" in people[0].page(episode)
    assert "Your turn" in people[0].page(episode)
    episode.refresh_from_db()
    assert (episode.turn_count, episode.acting) == (0, 0)
    people[0].send(episode, BOX % "silent")
    episode.refresh_from_db()
    actions = list(episode.turns.order_by("number").values_list("seat", "action"))
    assert actions == [(0, BOX % "silent"), (1, BOX % "betray")]
    assert operations.verify(episode) is None
    assert not episode.seats.exclude(held="").exists()


def test_a_choice_that_is_sealed_is_not_changed() -> None:
    people, episode = pair(DILEMMA)
    people[1].send(episode, BOX % "betray")
    answer = people[1].send(episode, BOX % "silent")
    assert "already chosen" in notice(answer)
    assert episode.seats.get(number=1).held == BOX % "betray"


def test_a_choice_is_held_for_an_agent_too(person: Person) -> None:
    episode = person.begin(DILEMMA, 5, opponent="expert", seat="1")
    assert person.send(episode, BOX % "betray").status_code == 200
    act_for_agents(episode)
    episode.refresh_from_db()
    assert list(episode.turns.order_by("number").values_list("seat", flat=True))[:2] == [0, 1]
    assert episode.turns.get(number=2).action == BOX % "betray"
    assert operations.verify(episode) is None


def test_what_is_held_is_gone_when_somebody_gives_up() -> None:
    people, episode = pair(DILEMMA)
    people[1].send(episode, BOX % "betray")
    people[0].client.post(f"/play/{episode.id}/abandon/")
    assert not episode.seats.exclude(held="").exists()
    assert "betray" not in people[0].page(episode).partition('id="turns"')[2]
