"""Guests who send and start much do not keep others waiting: turns in slow environments, and live episodes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db.models import F
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

import gem
from apps.accounts import quotas, visitors
from apps.admission.line import note_spent
from apps.admission.models import Party
from apps.episodes.models import Episode, PendingTurn
from apps.episodes.operations import step
from apps.play import pending
from apps.play.models import Show
from apps.play.shows import operations as shows
from apps.play.shows import show_leases
from gem.envs.duels.prisoners_dilemma import PrisonersDilemma
from gem.envs.games.guess_the_number import GuessTheNumber
from gem.registry import ENV_REGISTRY
from tests.apps.agents import built_in
from tests.apps.play.people import BOX, Person
from tests.html import tight

SLOW, HELD, FAST = "test:Slow-v0", "test:HeldDilemma-v0", "game:GuessTheNumber-v0-easy"
BUSY, QUIET = "203.0.113.7", "198.51.100.2"
HOST_TURNS = 8

pytestmark = pytest.mark.django_db


class Slow(GuessTheNumber):
    """An environment that nobody has declared fast."""


class HeldDilemma(PrisonersDilemma):
    """The same with two seats that choose at the same time."""


@pytest.fixture(autouse=True)
def slow() -> Iterator[None]:
    gem.register(SLOW, Slow, min_number=1, max_number=1000, max_turns=20)
    yield
    del ENV_REGISTRY[SLOW]


def guest(address: str) -> Person:
    """A visitor with a cookie of their own."""
    return Person(Client(REMOTE_ADDR=address))


def send_turns(person: Person, number: int = 1) -> list[str]:
    """Send a turn in each of `number` new episodes."""
    episodes = [person.begin(SLOW, seed) for seed in range(number)]
    assert [person.send(episode, BOX % 5).status_code for episode in episodes] == [202] * number
    return [episode.pk for episode in episodes]


def place_of(person: Person, episode_id: str) -> str:
    """The text that the page shows about the queue."""
    return tight(person.client.get(f"/play/{episode_id}/place/")).partition(">")[2].removesuffix("</small>")


# ------------------------------------------------------------------ turns


def test_sixteen_guests_of_one_address_do_not_keep_another_visitor_waiting(settings: Settings) -> None:
    theirs = [*send_turns(guest(BUSY)), *(turn_of(f"visitor:{n}", hashed(BUSY), n) for n in range(15))]
    (honest,) = send_turns(guest(QUIET))
    claimed = pending.claim(uuid4(), HOST_TURNS)
    assert honest in claimed
    assert len(set(claimed) & set(theirs)) == settings.TURNS_PER_ADDRESS, "the address has a limit"
    (late,) = send_turns(guest(QUIET))
    assert pending.claim(uuid4(), HOST_TURNS) == [late], "a worker is free for somebody else"


def test_a_discarded_cookie_earns_no_turn_and_visitors_of_one_address_take_turns(settings: Settings) -> None:
    settings.STARTS_PER_MINUTE = 1000
    greedy, modest = guest(BUSY), guest(BUSY)
    first = send_turns(greedy, 6)
    (second,) = send_turns(modest)
    (other,) = send_turns(guest(QUIET))
    assert set(pending.claim(uuid4(), 3)) == {first[0], second, other}
    assert pending.claim(uuid4(), HOST_TURNS) == [first[1]], "one person has a limit too"


def test_a_person_with_an_account_has_a_share_of_their_own(settings: Settings, django_user_model: Any) -> None:
    for number in range(6):
        turn_of(f"visitor:{number}", hashed(BUSY), number)
    member = guest(BUSY)
    member.client.force_login(django_user_model.objects.create_user("ada"))
    (own,) = send_turns(member)
    assert own in pending.claim(uuid4(), 2)


@pytest.mark.parametrize(("seconds", "is_next"), [(30.0, False), (2.0, True)])
def test_whoever_kept_workers_busy_less_lately_is_next(seconds: float, is_next: bool) -> None:
    """Unless it was little more: among equals, the one who was served longest ago is next."""
    busy, idle = guest(BUSY), guest(QUIET)
    for person, spent in ((busy, seconds), (idle, 0.1)):
        (episode,) = send_turns(person)
        (key,) = pending.claim(token := uuid4(), 1)
        assert key == episode
        claimed = pending.begin(key, token)
        pending.note_time(claimed, spent)
        pending.finish(claimed, token, claimed.env.step(claimed.action))
    turns = [*send_turns(busy), *send_turns(idle)]
    assert pending.claim(uuid4(), 1) == [turns[0 if is_next else 1]]
    assert pending.claim(uuid4(), 1) == [turns[1 if is_next else 0]]


def test_time_that_was_spent_is_forgotten() -> None:
    spent = Party.objects.create(line="turn", name="user:1", served=timezone.now())
    for minutes, left in ((0, 80), (3, 10)):
        Party.objects.filter(name="user:1").update(spent=80, spent_at=timezone.now() - timedelta(minutes=minutes))
        note_spent("turn", "user:1", "", 0)
        spent.refresh_from_db()
        assert spent.spent == pytest.approx(left, abs=1)


def test_too_many_waiting_turns_of_one_address_are_refused(settings: Settings) -> None:
    settings.TURNS_WAITING_PER_PERSON = 1
    for number in range(pending.PEOPLE_PER_ADDRESS):
        turn_of(f"visitor:{number}", hashed(BUSY), number)
    late = guest(BUSY)
    answer = late.send(late.begin(SLOW, 1), BOX % 5)
    assert answer.status_code == 429
    assert b"IP address" in answer.content
    send_turns(guest(QUIET))


def test_a_pending_turn_has_a_place_in_the_queue(settings: Settings) -> None:
    settings.STARTS_PER_MINUTE = 1000
    people = [guest(QUIET) for _ in range(3)]
    episodes = [send_turns(person)[0] for person in people]
    assert [place_of(*pair) for pair in zip(people, episodes, strict=True)] == [
        "1st in the queue", "2nd in the queue", "3rd in the queue",
    ]  # fmt: skip
    page = tight(people[2].client.get(f"/episodes/{episodes[2]}/"))
    assert f'hx-get="/play/{episodes[2]}/place/"' in page, "the page asks for it"
    assert pending.claim(uuid4(), 1) == [episodes[0]]
    assert [place_of(*pair) for pair in zip(people, episodes, strict=True)] == [
        "", "1st in the queue", "2nd in the queue",
    ]  # fmt: skip


def hashed(address: str) -> str:
    """An address as turns have it."""
    request = RequestFactory(REMOTE_ADDR=address).get("/")
    request.user = AnonymousUser()
    return visitors.address(request)


def turn_of(person: str, address: str, number: int) -> str:
    """A pending turn without anything else, in the queue."""
    episode = Episode.objects.create(env_id=SLOW, env_version=1, seed=number)
    PendingTurn.objects.create(episode=episode, number=1, action="", person=person, address=address)
    return episode.pk


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
@pytest.mark.parametrize("limits", [(1, 2), (2, 3), (99, 99)])
def test_everybody_who_waits_is_served_in_turn_and_nobody_exceeds_a_limit(
    seed: int, limits: tuple[int, int], settings: Settings
) -> None:
    """Simulated workers, two people with accounts, a visitor, and eight visitors of another address."""
    rng = random.Random(seed)
    settings.TURNS_PER_PERSON, settings.TURNS_PER_ADDRESS = limits
    workers = rng.randint(1, 6)
    people = [("user:1", ""), ("user:2", ""), ("visitor:a", "home"), *[(f"visitor:{n}", "attack") for n in range(8)]]
    owners = {turn_of(*person, number): person for person in people for number in range(6)}
    served = dict.fromkeys(["user:1", "user:2", "home", "attack"], 0)
    running: list[str] = []
    while max(served.values()) < 6:
        for episode_id in pending.claim(uuid4(), workers - len(running)):
            person, address = owners[episode_id]
            served[address or person] += 1
            running.append(episode_id)
        of_people, of_addresses = (Counter(owners[one][column] for one in running) for column in (0, 1))
        assert max(of_people.values()) <= limits[0]
        assert max([0, *(number for address, number in of_addresses.items() if address)]) <= limits[1]
        if limits == (99, 99):
            assert max(served.values()) - min(served.values()) <= 1
        ended = rng.sample(running, rng.randint(1, len(running)))
        PendingTurn.objects.filter(pk__in=ended).delete()
        running = [one for one in running if one not in ended]


# ------------------------------------------------------------------ shows


def start_show(person: Person, status: int = 302) -> str:
    answer = person.client.post("/play/watch/new/", {"env_id": FAST, "agent": "random", "pace": "1"})
    assert answer.status_code == status, answer.content[:1000]
    return answer["Location"].rstrip("/").rpartition("/")[2] if status == 302 else answer.content.decode()


def claim_shows() -> tuple[UUID, set[str]]:
    """What a host claims when all next turns are due."""
    Show.objects.update(next_turn_at=F("next_turn_at") - timedelta(minutes=5))
    token = uuid4()
    return token, set(show_leases.claim(token, 500, showcase=False))


def test_guests_without_cookies_have_as_many_shows_as_one_address_may_have(settings: Settings) -> None:
    settings.STARTS_PER_MINUTE = 1000
    settings.SHOWS_PER_ADDRESS, settings.SHOWS_PER_PERSON = 6, 4
    theirs = {start_show(guest(BUSY)) for _ in range(12)}
    assert "IP address" in start_show(guest(BUSY), 429), "there is room for as many more in the queue, and no more"
    honest = start_show(guest(QUIET))
    token, claimed = claim_shows()
    assert honest in claimed
    assert len(claimed & theirs) == 6
    waiting = min(theirs - claimed)
    assert place_of(guest(QUIET), waiting).endswith("in the queue")
    assert place_of(guest(QUIET), honest) == ""
    show_leases.release(token, list(claimed & theirs)[:2])
    Show.objects.filter(lease_token=None, pk__in=claimed).update(paused=True)
    assert len(claim_shows()[1]) == 2, "those that wait follow when others pause or end"


def test_the_shows_of_a_person_beyond_the_limit_wait_instead_of_being_refused(settings: Settings) -> None:
    settings.SHOWS_PER_PERSON = 2
    person = guest(QUIET)
    started = [start_show(person) for _ in range(4)]
    assert "one person may have 4" in start_show(person, 429)
    assert len(claim_shows()[1]) == 2
    assert place_of(person, started[3]) == "2nd in the queue"
    shows.stop(started[0])
    assert claim_shows()[1] == {started[2]}


def test_a_person_with_another_quota_has_as_many_shows_playing_and_as_many_waiting(
    settings: Settings, django_user_model: Any
) -> None:
    settings.SHOWS_PER_PERSON = 1
    ada = django_user_model.objects.create_user("ada")
    person = guest(QUIET)
    person.client.force_login(ada)
    quotas.set_limit(ada, quotas.LIVE_EPISODES, 3)
    for _ in range(6):
        start_show(person)
    assert "one person may have 6" in start_show(person, 429)
    assert len(claim_shows()[1]) == 3
    quotas.set_limit(ada, quotas.LIVE_EPISODES, None)
    assert len(claim_shows()[1]) == 3, "the others follow when there is no limit"


def test_the_agents_of_a_duel_are_claimed_together_so_that_none_waits_for_another_for_ever(settings: Settings) -> None:
    settings.STARTS_PER_MINUTE = 1000
    settings.SHOWS_PER_ADDRESS, settings.SHOWS_PER_PERSON = 5, 3
    for _ in range(4):
        sent = {"env_id": FAST, "first": "expert", "second": "random", "pace": "1"}
        assert guest(BUSY).client.post(reverse("duels:new"), sent).status_code == 302
    claim_shows()
    claim_shows()
    played = Show.objects.exclude(lease_token=None).values_list("episode__batch", flat=True)
    assert set(Counter(played).values()) == {2}, "both agents play, or none"
    assert len(set(played)) == 3


def test_an_agent_answers_a_person_at_once_however_many_shows_they_have(settings: Settings) -> None:
    settings.SHOWS_PER_PERSON = 1
    person = guest(QUIET)
    start_show(person)
    episode = person.begin("duel:TicTacToe-v0", opponent="random", seat="1")
    assert episode.pk in claim_shows()[1]


def begin_against_an_agent(person: Person, number: int) -> list[str]:
    """Begin episodes in which an agent has the first turn."""
    return [person.begin("duel:TicTacToe-v0", opponent="random", seat="1").pk for _ in range(number)]


def test_a_guest_who_begins_and_forks_many_games_keeps_no_agent_from_answering_another(settings: Settings) -> None:
    settings.STARTS_PER_MINUTE = 1000
    settings.SHOWS_PER_PERSON = settings.SHOWS_PER_ADDRESS = 3
    greedy, honest = guest(BUSY), guest(QUIET)
    begun = begin_against_an_agent(greedy, 8)
    Episode.objects.filter(pk=begun[0]).update(status=Episode.Status.ABANDONED)
    for _ in range(8):
        assert greedy.client.post(f"/play/{begun[0]}/fork/", {"turn": "0"}).status_code == 302
    (own,) = begin_against_an_agent(honest, 1)
    Show.objects.update(next_turn_at=F("next_turn_at") - timedelta(minutes=5))
    first = show_leases.claim(uuid4(), 2, showcase=False)
    assert own in first, "they are served in turn"
    assert len(claim_shows()[1]) == 2, "the address has a limit"
    others = begin_against_an_agent(guest(BUSY), 1)
    assert place_of(guest(QUIET), others[0]).endswith("in the queue")
    assert claim_shows()[1] == set()


def test_games_against_agents_are_not_the_live_episodes_that_one_may_start(settings: Settings) -> None:
    settings.SHOWS_PER_PERSON = settings.SHOWS_PER_ADDRESS = 1
    person = guest(QUIET)
    begin_against_an_agent(person, 5)
    start_show(person)
    start_show(person)
    assert "one person may have 2" in start_show(person, 429)


def test_nobody_steers_the_agent_that_they_play_against() -> None:
    person = guest(QUIET)
    (episode,) = begin_against_an_agent(person, 1)
    assert person.client.post(f"/play/{episode}/control/pause/").status_code == 403


def test_without_cpu_seconds_nobody_begins_forks_or_takes_back_a_game_against_an_agent(
    settings: Settings, django_user_model: Any
) -> None:
    ada = django_user_model.objects.create_user("ada")
    person = guest(QUIET)
    person.client.force_login(ada)
    sent = {"env_id": "duel:TicTacToe-v0", "opponent": "random", "seat": "0", "seed": ""}
    running, over = person.begin(**sent), person.begin(**sent)
    person.send(running, BOX % 5)
    Episode.objects.filter(pk=over.pk).update(status=Episode.Status.ABANDONED)
    settings.CPU_SECONDS_PER_DAY = 0
    for address, fields in [
        ("/play/new/", sent),
        (f"/play/{over.pk}/fork/", {"turn": "0"}),
        (f"/play/{running.pk}/undo/", {}),
    ]:
        answer = person.client.post(address, fields)
        assert answer.status_code == 429, address
        assert b"CPU seconds today" in answer.content
    assert Episode.objects.count() == 2
    assert Episode.objects.get(pk=running.pk).status == Episode.Status.RUNNING


def test_a_choice_that_was_held_waits_in_the_queue_of_its_address(settings: Settings) -> None:
    gem.register(HELD, HeldDilemma, seats=2)
    try:
        people = guest(QUIET), guest(BUSY)
        episode = people[0].begin(HELD, opponent="person", seat="0")
        people[1].sit_down(people[0].link(episode))
        people[1].send(episode, BOX % "betray")
        people[0].send(episode, BOX % "silent")
        token = uuid4()
        assert pending.claim(token, 1) == [episode.pk]
        claimed = pending.begin(episode.pk, token)
        sent_from = PendingTurn.objects.get().address
        pending.finish(claimed, token, step(claimed.episode, claimed.env, claimed.action))
    finally:
        del ENV_REGISTRY[HELD]
    held = PendingTurn.objects.get()
    assert held.seat == 1
    assert held.address not in {"", sent_from}


def test_the_shows_of_the_site_itself_have_no_limit(settings: Settings) -> None:
    settings.SHOWS_PER_PERSON = settings.SHOWS_PER_ADDRESS = 1
    of_site = [shows.start(FAST, built_in("random")).pk for _ in range(3)]
    assert claim_shows()[1] == set(of_site)
