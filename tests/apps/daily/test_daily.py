"""The daily seed: one try for each, nothing known before the day ends, and everything afterwards."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.agents import operations as agents
from apps.agents.models import Agent
from apps.daily import days, operations, results
from apps.daily.models import Try
from apps.episodes.branches import Sealed, draft_branch
from apps.episodes.models import Episode
from apps.play.models import Show
from gem import registry
from gem.agents import has_expert
from gem.agents.endpoint import EndpointSpec
from gem.benchmarks import seeds
from tests.apps.daily.days import WORDLE, act_out, choose_wordle, end
from tests.html import tight


@pytest.fixture(autouse=True)
def day_of_wordle(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every day is one of Wordle."""
    choose_wordle(monkeypatch)


def person(name: str) -> tuple[User, Client]:
    """Somebody with an account."""
    user, client = User.objects.create_user(name), Client()
    client.force_login(user)
    return user, client


def play(user: User, lost_turns: int = 0, by: str = "expert") -> Episode:
    """The try of a person, played to its end."""
    return act_out(operations.begin(days.today(), user, ""), by, lost_turns)


def test_a_person_has_one_try_and_goes_on_with_it() -> None:
    ann, client = person("ann")
    answer = client.post(reverse("daily:begin"))
    episode = operations.own_episode(days.today(), ann, "")
    assert episode is not None
    assert answer["Location"] == episode.get_absolute_url()
    assert client.post(reverse("daily:begin"))["Location"] == episode.get_absolute_url()
    assert Try.objects.get().episode == episode
    assert episode.seed < 0
    assert "Continue" in client.get(reverse("daily:today")).content.decode()


def test_nobody_sees_results_before_their_own_try_is_over() -> None:
    ann, as_ann = person("ann")
    _, as_bob = person("bob")
    play(ann)
    operations.collect()
    page = tight(as_bob.get(reverse("daily:today")))
    assert "1 person and 0 agents have played it." in page
    assert 'id="table"' not in page
    assert 'id="table"' in tight(as_ann.get(reverse("daily:today")))


def test_the_page_has_the_own_result_before_a_worker_has_collected_it() -> None:
    ann, as_ann = person("ann")
    play(ann)
    assert Try.objects.get().ended is None
    page = tight(as_ann.get(reverse("daily:today")))
    assert "1 person, 0 agents" in page
    assert Try.objects.get().solved


def test_a_day_is_closed_to_all_but_its_player_and_open_when_it_is_over() -> None:
    ann, as_ann = person("ann")
    staff, as_staff = person("staff")
    User.objects.filter(pk=staff.pk).update(is_staff=True)
    episode = play(ann)
    day = days.today()
    seed = str(days.seed_of(day))
    for client in (as_staff, Client()):
        assert client.get(episode.get_absolute_url()).status_code == 404
        assert client.get(reverse("episodes:jsonl", args=[episode.pk])).status_code == 404
    assert seed not in as_ann.get(episode.get_absolute_url()).content.decode()
    with pytest.raises(Sealed):
        draft_branch(episode, 0)
    as_ann.get(reverse("play:hint", args=[episode.pk]))
    assert not episode.seats.get().advised
    open_day = end(day)
    assert open_day.published_key == day.key.hex()
    assert seed in Client().get(reverse("daily:day", args=[day.number])).content.decode()
    assert Client().get(episode.get_absolute_url()).status_code == 200
    assert Episode.objects.get(pk=episode.pk).seed == int(seed)


def test_everybody_can_derive_environment_and_seed_from_the_published_key() -> None:
    day = days.today()
    key = bytes.fromhex(end(day).published_key)
    assert seeds.keeps(key, day.commitment)
    assert days.env_id_of(day) == days.choose(key, day.number)
    assert days.seed_of(day) == seeds.derive_seed(key, "daily", 1, days.env_id_of(day), "common", 0)


def test_the_environments_are_for_one_person_and_an_expert(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    assert len(set(days.ENVIRONMENTS)) == 10
    for env_id in days.ENVIRONMENTS:
        spec = registry.spec(env_id)
        assert (spec.seats, spec.cost, spec.replay) == (1, "fast", "exact"), env_id
        assert spec.winnable, env_id
        assert has_expert(env_id), env_id
    chosen = {days.choose(bytes([number]) * 32, 300 + number) for number in range(60)}
    assert chosen == set(days.ENVIRONMENTS)


def test_days_are_numbered_by_utc() -> None:
    assert days.number_of(days.date_of(326)) == 326
    assert days.date_of(326).isoformat() == "2026-11-22"
    day = days.today()
    assert day.begins.astimezone(UTC).date() == days.date_of(day.number)
    assert (day.ends - day.begins).days == 1
    assert days.today() == day
    assert day.begins <= datetime.now(UTC) < day.ends


def test_guests_play_and_do_not_rank() -> None:
    client = Client()
    client.post(reverse("daily:begin"))
    episode = operations.episodes_of(days.today()).get()
    assert not Try.objects.exists()
    act_out(episode, "expert")
    assert "You played it as a guest" in tight(client.get(reverse("daily:today")))
    assert results.counts(days.today()) == (0, 0)
    ann = User.objects.create_user("ann", password="correct horse battery")
    client.post("/account/login/", {"username": "ann", "password": "correct horse battery"})
    assert operations.begin(days.today(), ann, "") == episode  # there is no second try with an account
    assert not Try.objects.exists()


def test_the_numbers_are_those_of_the_tries() -> None:
    people = [person(f"person-{number}")[0] for number in range(5)]
    turns = [play(user, lost_turns=lost).turn_count for user, lost in zip(people[:3], (0, 1, 2), strict=True)]
    assert turns[0] < turns[1] < turns[2]
    play(people[3], by="random")
    operations.begin(days.today(), people[4], "")  # still plays
    operations.collect()
    day = days.today()
    assert results.counts(day) == (4, 0)
    second = Try.objects.get(user=people[1])
    beaten = results.beaten(day, results.result_of(day, second.episode), own=second.episode)
    assert (beaten.people, beaten.people_of) == (2, 3)
    assert beaten.sentence == "Better than 67 % of people"
    assert [row.rank for row in results.table(day, None)] == ["1", "2", "3", "4"]
    assert sum(bar.count for bar in results.curve(day)) == 4
    end(day)
    left = Try.objects.get(user=people[4])
    assert (left.solved, left.ended is not None) == (False, True)
    assert results.counts(day) == (5, 0)


def test_equal_results_share_their_ranks_and_beat_nobody() -> None:
    for name in ("ann", "bob"):
        play(person(name)[0])
    operations.collect()
    rows = results.table(days.today(), None)
    assert [row.rank for row in rows] == ["1–2", "1–2"]
    result = results.result_of(days.today(), rows[0].one.episode)
    assert results.beaten(days.today(), result, own=rows[0].one.episode).people == 0


def test_names_are_shown_only_to_those_who_allow_it() -> None:
    ann, _ = person("ann-who-plays")
    bob, as_bob = person("bob")
    play(ann)
    play(bob)
    operations.collect()
    assert "ann-who-plays" not in tight(as_bob.get(reverse("daily:today")))
    Client().post(reverse("accounts:named"), {"is_named": "on"})
    as_ann = Client()
    as_ann.force_login(ann)
    as_ann.post(reverse("accounts:named"), {"is_named": "on"})
    assert "ann-who-plays" in tight(as_bob.get(reverse("daily:today")))


def test_agents_play_one_after_another_while_nobody_waits() -> None:
    ann, _ = person("ann")
    spec = EndpointSpec(url="http://127.0.0.1:1/v1", model="m")
    willing, unwilling = (agents.create(ann, name, spec, visibility="public") for name in ("willing", "unwilling"))
    agents.declare(willing, agents.Declaration(plays_daily=True))
    assert {agent.slug for agent in operations.agents_for(days.today())} == {"random", "expert", willing.slug}
    first = operations.let_agent_play()
    assert first is not None
    assert operations.let_agent_play() is None  # the first one waits for a host
    Show.objects.all().delete()
    act_out(first.episode, str(first.agent.kind if first.agent else ""))
    second = operations.let_agent_play()
    assert second is not None
    assert second.agent != first.agent
    assert second.episode.seed == first.episode.seed < 0
    assert not Episode.objects.visible_to(ann).filter(pk__in=[first.episode_id, second.episode_id]).exists()
    operations.collect()
    assert results.counts(days.today()) == (0, 1)
    Agent.objects.filter(daily_tries=first).update(hidden_reason="spam")
    assert results.counts(days.today()) == (0, 0)
    assert results.table(days.today(), None) == []
    agents.set_visibility(willing, agents.Visibility.PRIVATE)
    assert not any(agent == willing for agent in operations.agents_for(days.today()))
    assert unwilling not in operations.agents_for(days.today())


def test_a_shared_result_has_a_card_and_gives_nothing_away() -> None:
    ann, as_ann = person("ann")
    episode = play(ann)
    operations.collect()
    day = days.today()
    guest = Client()
    page = guest.get(reverse("daily:shared", args=[day.number, episode.pk])).content.decode()
    assert f'<meta property="og:title" content="gemweb daily {day.number}">' in tight(page)
    assert "card.png" in page
    svg = guest.get(reverse("daily:card_svg", args=[day.number, episode.pk]))
    assert svg["Content-Type"] == "image/svg+xml"
    assert f"{episode.turn_count}" in svg.content.decode()
    png = guest.get(reverse("daily:card_png", args=[day.number, episode.pk]))
    assert png.content.startswith(b"\x89PNG")
    secret = episode.turns.order_by("number").last()
    assert secret is not None
    word = secret.action.partition("{")[2].rstrip("}")
    for text in (
        page,
        svg.content.decode(),
        as_ann.get(reverse("daily:today")).content.decode().partition('"share"')[2],
    ):
        assert word not in text.lower()
        assert str(days.seed_of(day)) not in text
    Episode.objects.filter(pk=episode.pk).update(visibility="private")
    assert guest.get(reverse("daily:shared", args=[day.number, episode.pk])).status_code == 404
    assert as_ann.get(reverse("daily:shared", args=[day.number, episode.pk])).status_code == 200
    other = operations.begin(day, AnonymousUser(), "somebody")
    assert guest.get(reverse("daily:shared", args=[day.number, other.pk])).status_code == 404  # not over


def test_the_line_of_the_home_page_says_what_is_to_do() -> None:
    ann, client = person("ann")
    assert "0 people and 0 agents" in tight(client.get(reverse("daily:line")))
    play(ann)
    operations.collect()
    assert "Solved in" in tight(client.get(reverse("daily:line")))
    assert WORDLE not in tight(client.get(reverse("daily:line")))


def test_the_human_agent_has_a_page() -> None:
    assert Client().get(Agent.objects.get(slug="human").get_absolute_url()).status_code == 200
