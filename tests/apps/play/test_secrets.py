"""What a seat may not know is in no page, event or download while an episode runs.

Two episodes that differ only in what is hidden from somebody must look the same to them, byte for byte.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Sequence

import pytest

import gem
from apps.episodes import operations
from apps.episodes.models import Episode
from apps.episodes.operations import Occupant
from apps.play.topics import EpisodeTopic
from gem.validation.values import MAX_SEED
from tests.apps.agents import built_in
from tests.apps.play.people import BOX, Person
from tests.apps.play.seats import act_for_agents

KUHN, TALKS, DILEMMA = "duel:KuhnPoker-v0", "duel:Negotiation-v0", "duel:PrisonersDilemma-v0"

pytestmark = pytest.mark.django_db


def of_two(env_id: str, seed: int) -> tuple[list[Person], Episode]:
    """Two people in an episode with this seed, which no form would let them choose."""
    people, seats = [Person(), Person()], []
    for person in people:
        person.client.get("/")
        session = person.client.session
        session["visitor"] = f"{seed:016x}{len(seats):016x}"
        session.save()
        seats.append(Occupant(built_in("human"), visitor=session["visitor"]))
    return people, operations.begin(env_id, seed=seed, seats=seats)


def seen(person: Person, episode: Episode, audiences: Sequence[str]) -> dict[str, str]:
    """Everything that is shown of the episode, by where; without what always differs."""
    start = f"/episodes/{episode.id}/"
    addresses = [start, f"{start}episode.json", f"{start}episode.jsonl", f"{start}frames/0/"]
    if episode.env_id == KUHN:  # lists say the same of every environment
        recent = f"/episodes/fragments/recent/?env_id={episode.env_id}"
        addresses += ["/play/watch/", "/episodes/", f"/search/?q={episode.id[:6]}", recent]
    addresses += [f"{start}frames/0/?seat={seat}" for seat in ("0", "1", "public")]
    for number in range(episode.turn_count + 1):
        addresses += [f"{start}turns/{number}/", f"{start}turns/{number}/raw.json"]
        addresses += [f"{start}turns/{number}/?seat={seat}" for seat in ("0", "1")]
    found = {}
    for address in addresses:
        answer = person.client.get(address, follow=True)
        assert answer.status_code == 200, address
        found[address] = answer.content.decode()
    found["verify"] = person.client.post(f"{start}verify/").content.decode()
    for verb in ("fork", "finish", "hint"):
        send = person.client.get if verb == "hint" else person.client.post
        answer = send(f"/play/{episode.id}/{verb}/", {"turn": "0"}, headers={"HX-Request": "true"})
        assert "Location" not in answer.headers or answer["Location"] == episode.get_absolute_url()
        found[verb] = answer.content.decode()
    for audience in audiences:
        for after in range(-1, episode.seq):
            found[f"{audience} after {after}"] = "".join(
                event.html for event in EpisodeTopic().events(episode.id, after, audience)
            )
    return {_bare(place, episode): _bare(text, episode) for place, text in found.items()}


def _bare(text: str, episode: Episode) -> str:
    text = text.replace(episode.id, "ID").replace(episode.id[:6], "ID").replace(episode.label, "LABEL")
    text = re.sub(r'name="(csrfmiddlewaretoken|idempotency_key)" value="\w+"', "", text)
    text = re.sub(r'"X-CSRFToken": "\w+"|nonce="[^"]+"', "", text)
    text = re.sub(r'data-elapsed="\d+"', "", text)  # for how long the present turn has lasted
    return re.sub(r'\d{4}-\d\d-\d\d[T ][\d:.]+(\+00:00|Z| UTC)?|now|(\d+|an?)\s\w+ ago|ID/seat/[^"< ]+', "", text)


def shown(person: Person, episode: Episode, place: str) -> str:
    """One page of an episode, without what always differs."""
    answer = person.client.get(f"/episodes/{episode.id}/{place}")
    assert answer.status_code == 200
    return _bare(answer.content.decode(), episode)


def check_same(one: dict[str, str], other: dict[str, str]) -> None:
    assert one.keys() == other.keys()
    for place, text in one.items():
        assert text == other[place], place


@functools.cache
def seeds_with(env_id: str, same: int) -> tuple[int, int]:
    """Two seeds for which seat `same` is told the same and the other one is not."""
    told: dict[str, tuple[int, str]] = {}
    for seed in range(100_000, 140_000):
        env = gem.make(env_id)
        _, info = env.reset(seed=seed)
        own, hidden = (json.dumps(info["seats"][seat]) for seat in (same, 1 - same))
        if own in told and told[own][1] != hidden:
            return told[own][0], seed
        told.setdefault(own, (seed, hidden))
    raise AssertionError("no such seeds")


def actions_of(env_id: str) -> list[tuple[str, str]]:
    """The turns of both episodes: alike in what is public, unlike in what seat 1 thinks aloud."""
    if env_id == KUHN:
        return [(BOX % "check", BOX % "check"), ("I hold a good one. " + BOX % "bet", "I hold nothing. " + BOX % "bet")]
    say = BOX % "say What do you want most?"
    return [(say, say), ("Hats are worth most. " + BOX % "propose 0 0 1", "Balls are. " + BOX % "propose 0 0 1")]


def played(env_id: str, watcher: str) -> list[tuple[list[Person], Episode]]:
    """Two episodes after two turns that differ in what is hidden from `watcher`."""
    tables = []
    for index, seed in enumerate(seeds_with(env_id, same=0)):
        people, episode = of_two(env_id, seed)
        for seat, actions in enumerate(actions_of(env_id)):
            assert people[seat].send(episode, actions[index]).status_code == 200
        episode.refresh_from_db()
        tables.append((people, episode))
    return tables


def looked_at(tables: list[tuple[list[Person], Episode]], who: str) -> list[dict[str, str]]:
    """What `who` sees of either, one episode at a time so that lists show only that one."""
    found = []
    for people, episode in tables:
        Episode.objects.update(visibility="unlisted")
        Episode.objects.filter(pk=episode.pk).update(visibility="public")
        person = Person() if who == "watch" else people[int(who[-1])]
        audiences = [who] if who != "watch" else ["watch", "home"]
        found.append(seen(person, Episode.objects.get(pk=episode.pk), audiences))
    return found


@pytest.mark.parametrize("env_id", [KUHN, TALKS])
@pytest.mark.parametrize("who", ["seat-0", "watch"])
def test_what_is_hidden_changes_nothing_for_those_who_may_not_know_it(env_id: str, who: str) -> None:
    check_same(*looked_at(played(env_id, who), who))


@pytest.mark.parametrize("env_id", [KUHN, TALKS])
def test_a_seat_sees_its_own(env_id: str) -> None:
    tables = played(env_id, "seat-1")
    for place in ("", "episode.json", "frames/0/"):
        one, other = (shown(people[1], episode, place) for people, episode in tables)
        assert one != other, place
    events = ["".join(event.html for event in EpisodeTopic().events(e.id, 1, "seat-1")) for _, e in tables]
    assert _bare(events[0], tables[0][1]) != _bare(events[1], tables[1][1])
    (_, person), episode = tables[0]
    assert "I hold a good one" in shown(person, episode, "turns/2/raw.json") or env_id == TALKS


@pytest.mark.parametrize("who", ["seat-1", "watch"])
def test_a_sealed_choice_changes_nothing_for_the_other_seat(who: str) -> None:
    tables = []
    for choice in ("silent", "betray"):
        people, episode = of_two(DILEMMA, 7)
        people[0].send(episode, BOX % choice)
        tables.append((people, Episode.objects.get(pk=episode.pk)))
    check_same(*looked_at(tables, who))
    one, other = (shown(people[0], episode, "turns/1/raw.json") for people, episode in tables)
    assert one != other


@pytest.mark.parametrize("who", ["seat-0", "watch"])
def test_a_choice_that_is_held_changes_nothing_for_who_has_not_chosen(who: str) -> None:
    tables = []
    for choice in ("silent", "betray"):
        people, episode = of_two(DILEMMA, 7)
        people[1].send(episode, BOX % choice)
        tables.append((people, Episode.objects.get(pk=episode.pk)))
    check_same(*looked_at(tables, who))


def test_both_choices_are_shown_when_both_are_made() -> None:
    people, episode = of_two(DILEMMA, 7)
    people[0].send(episode, BOX % "betray")
    assert "betray" not in _said(people[1], episode)
    people[1].send(episode, BOX % "silent")
    for person in (*people, Person()):
        assert "the first player chose betray" in _said(person, episode)


def _said(person: Person, episode: Episode) -> str:
    page = person.page(episode)
    return page[page.index('id="turns"') : page.index("</ol>", page.index('id="turns"'))]


def test_everything_is_open_after_the_end() -> None:
    people, episode = of_two(KUHN, 7)
    for turn, action in enumerate(("check", "My card is low. " + BOX % "bet", "fold")):
        people[turn % 2].send(episode, action if "boxed" in action else BOX % action)
    episode.refresh_from_db()
    assert episode.over
    watcher = Person()
    data = watcher.client.get(f"/episodes/{episode.id}/episode.json").json()
    assert data["seed"] == 7
    assert data["turns"][1]["action"].startswith("My card is low.")
    assert [seat["total_reward"] for seat in data["seats"]] == [-0.5, 0.5]
    env = gem.make(KUHN)
    env.reset(seed=7)
    for seat in (0, 1):
        page = watcher.client.get(f"/episodes/{episode.id}/turns/0/?seat={seat}").content.decode()
        cells = re.findall(r'<span class="cell"[^>]*>([^<]*)</span>', page)
        expected = [cell["text"] for cell in env.view(seat)["rows"][0]]  # type: ignore[typeddict-item]
        assert cells[:2] == expected
        assert "?" in expected


def test_the_seed_is_in_no_address_of_what_is_played() -> None:
    people, episode = of_two(KUHN, 123_456_789)
    assert "123456789" not in people[0].page(episode)
    page = Person().client.get("/episodes/", {"seed": "123456789", "source": "all"}).content.decode()
    assert episode.id not in page
    for number, action in enumerate(("bet", "fold")):
        people[number].send(episode, BOX % action)
    page = Person().client.get("/episodes/", {"seed": "123456789", "source": "all"}).content.decode()
    assert episode.id in page


def test_a_drawn_seed_cannot_be_found_by_trying_all() -> None:
    drawn = [Person().begin(KUHN, opponent="person").seed for _ in range(5)]
    assert max(drawn) > 2**40, "one in 2^65 fails by chance"
    assert all(0 <= seed <= MAX_SEED for seed in drawn)


def test_what_was_undone_stays_hidden_while_its_branch_is_played() -> None:
    person = Person()
    episode = person.begin(KUHN, 7, opponent="expert", seat="0")
    person.send(episode, BOX % "bet")
    person.client.post(f"/play/{episode.id}/undo/")
    branch = Episode.objects.get(parent=episode)
    episode.refresh_from_db()
    assert episode.over
    hidden = {seat: gem_text(seat) for seat in (0, 1)}
    for address in ("turns/0/?seat=1", "episode.json", "turns/0/raw.json", "frames/0/?seat=1"):
        text = person.client.get(f"/episodes/{episode.id}/{address}").content.decode()
        assert hidden[1] not in text, address
    assert person.client.get(f"/episodes/{episode.id}/episode.json").json()["seed"] is None
    person.send(branch, BOX % "bet")
    act_for_agents(branch)
    branch.refresh_from_db()
    assert branch.over
    assert hidden[1] in person.client.get(f"/episodes/{episode.id}/turns/0/raw.json").content.decode()


def gem_text(seat: int) -> str:
    """What the seat is told of its card at the beginning."""
    env = gem.make(KUHN)
    _, info = env.reset(seed=7)
    found = re.search(r"Your card is the \w+", info["seats"][seat]["observation"])
    assert found
    return found[0]


def test_nobody_listens_for_another_seat() -> None:
    people, episode = of_two(KUHN, 7)
    topic = EpisodeTopic()
    keys = [person.client.session["visitor"] for person in people]
    from django.contrib.auth.models import AnonymousUser

    for seat, key in enumerate(keys):
        assert topic.allows(episode.id, f"seat-{seat}", AnonymousUser(), key)
        assert not topic.allows(episode.id, f"seat-{1 - seat}", AnonymousUser(), key)
    for audience in ("seat-0", "seat-1", "seat-", "seat--1"):
        assert not topic.allows(episode.id, audience, AnonymousUser(), "")


def test_audiences_do_not_share_what_only_one_may_know() -> None:
    people, episode = of_two(KUHN, 7)
    topic = EpisodeTopic()
    people[0].send(episode, BOX % "check")
    one, other = (topic.events(episode.id, 0, f"seat-{seat}")[0].html for seat in (0, 1))
    assert gem_text(1) in other
    assert gem_text(1) not in one
    assert "Your card" not in topic.events(episode.id, 0, "watch")[0].html
