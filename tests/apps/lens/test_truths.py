"""True advantages: asked for, measured by workers turn by turn, seen by whoever may see the episode."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.urls import reverse

from apps import leases
from apps.accounts import personal_data
from apps.accounts.models import User
from apps.agents.models import Agent
from apps.episodes import operations
from apps.episodes.errors import NotFound, Outdated, Refusal, Sealed
from apps.episodes.models import Batch, Episode
from apps.episodes.operations import Occupant
from apps.episodes.restore import restore
from apps.lens import asking, computing, credit
from apps.lens.models import Truth, TurnTruth
from gem.agents import Request
from gem.analysis.true_advantage import Outcome, true_advantage
from gem.client import schemas
from gem.errors import AgentStopped
from tests.apps.agents import built_in

pytestmark = pytest.mark.django_db
GUESS = "game:GuessTheNumber-v0-easy"
NOBODY = AnonymousUser()


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """However slow the machine is, a part and a turn are finished. The heartbeat's thread sees no rows of a test."""
    for limit in ("PART_SECONDS", "TURN_SECONDS", "MOST_SECONDS"):
        monkeypatch.setattr(computing, limit, 3600.0)
    monkeypatch.setattr(leases, "LOOK_SECONDS", 3600.0)
    settings.LEASE_SECONDS = settings.HEARTBEAT_SECONDS = 3600.0


def ended(env_id: str = GUESS, seed: int = 3, agent: str = "random", **more: Any) -> Episode:
    """An episode that an agent has played to its end."""
    episode = operations.begin(env_id, seed=seed, seats=[Occupant(built_in(agent))], **more)
    env = restore(episode)
    actions = iter(["\\boxed{1}", "\\boxed{9}", "\\boxed{2}", "\\boxed{8}"])
    while not episode.over:
        operations.record_turn(episode, env, next(actions, None) or env.sample_random_action())
    return episode


def ask(episode: Episode, agent: str = "random", count: int = 16, turn: int | None = None, **who: Any) -> Truth:
    asked_by = {"user": NOBODY, "person": "visitor:x", "address": "", **who}
    return asking.ask(episode, agent, count, turn, **asked_by)


def test_a_worker_measures_every_turn() -> None:
    episode = ended()
    truth = ask(episode)
    assert computing.place(truth) == 1
    assert computing.compute_next()
    assert not computing.compute_next()
    truth.refresh_from_db()
    assert (truth.state, truth.sentence, truth.lease_token) == (Truth.State.DONE, "", None)
    turns = list(truth.turns.all())
    assert [turn.number for turn in turns] == list(range(1, episode.turn_count + 1))
    for turn in turns:
        for outcomes in (turn.continuations.taken, turn.continuations.anew):
            assert sum(outcome.n for outcome in outcomes) == 16
    last = turns[-1].continuations.taken
    assert last == (Outcome(16, ((0, episode.turns.get(number=episode.turn_count).reward),)),)


def test_the_same_question_is_answered_once_and_others_are_not() -> None:
    episode = ended()
    first = ask(episode)
    assert ask(episode, person="visitor:y") == first
    assert ask(episode, agent="expert") != first
    assert ask(episode, turn=1).first == 1
    with pytest.raises(Refusal, match="not done yet"):
        ask(episode, turn=2)


@pytest.mark.parametrize(
    ("agent", "count", "turn"), [("", 16, None), ("a-human", 16, None), ("random", 17, None), ("random", 16, 99)]
)
def test_what_is_not_there_is_refused(agent: str, count: int, turn: int | None) -> None:
    with pytest.raises(NotFound):
        ask(ended(), agent, count, turn)


def test_episodes_that_cannot_be_forked_say_why() -> None:
    running = operations.begin(GUESS, seed=3, seats=[Occupant(built_in("random"))])
    two = operations.begin("duel:TicTacToe-v0", seed=3, seats=[Occupant(built_in("random"))] * 2)
    Episode.objects.filter(pk=two.pk).update(status=Episode.Status.ENDED, turn_count=1)
    two.refresh_from_db()
    old, gone, ranked = ended(), ended(), ended()
    old.env_version, gone.env_id = 99, "game:Gone-v0"
    ranked.batch = Batch(kind=Batch.Kind.RANKED, closed=True)
    for episode in (running, two, ranked):
        with pytest.raises(Sealed):
            ask(episode)
    for episode, words in ((old, "version 99"), (gone, "no longer installed")):
        with pytest.raises(Outdated, match=words):
            ask(episode)


def test_what_is_stopped_keeps_what_was_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """One turn for each part: after the first, it is stopped; asked for again, it begins anew."""
    monkeypatch.setattr(computing, "PART_SECONDS", 0.0)
    episode = ended()
    truth = ask(episode)
    computing.compute_next(lambda: True)
    assert truth.turns.count() == 0
    assert computing.compute_next()
    assert truth.turns.count() == 1
    with pytest.raises(NotFound):
        asking.stop(episode, truth.pk, person="visitor:y", is_staff=False)
    asking.stop(episode, truth.pk, person="visitor:x", is_staff=False)
    assert not computing.compute_next()
    truth.refresh_from_db()
    assert truth.state == Truth.State.STOPPED
    assert truth.turns.count() == 1
    assert ask(episode) != truth


def test_another_worker_goes_on_where_one_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    episode = ended()
    truth = ask(episode)
    real, asked = computing.fork, []

    def fork_twice(*args: Any, **options: Any) -> Any:
        asked.append(args[2].turn)
        if len(asked) == 2:
            raise SystemError("the process ends")
        return real(*args, **options)

    monkeypatch.setattr(computing, "fork", fork_twice)
    assert computing.compute_next()
    assert list(truth.turns.values_list("number", flat=True)) == [1]
    assert computing.compute_next()
    truth.refresh_from_db()
    assert truth.state == Truth.State.DONE
    assert asked == [0, 1, *range(1, episode.turn_count)]


def test_an_episode_that_is_deleted_ends_its_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    episode = ended()
    ask(episode)
    real = computing.fork

    def delete_and_fork(*args: Any, **options: Any) -> Any:
        Episode.objects.filter(pk=episode.pk).delete()
        return real(*args, **options)

    monkeypatch.setattr(computing, "fork", delete_and_fork)
    assert computing.compute_next()
    assert not Truth.objects.exists()
    assert not TurnTruth.objects.exists()


@pytest.mark.parametrize(
    ("limit", "words"), [("TURN_SECONDS", "one turn take more"), ("MOST_SECONDS", "the limit for one measurement")]
)
def test_it_takes_no_longer_than_it_may(limit: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computing, limit, 0.0)
    truth = ask(ended())
    computing.compute_next()
    truth.refresh_from_db()
    assert truth.state == Truth.State.FAILED
    assert words in truth.sentence


def test_an_agent_that_cannot_play_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    class Rests:
        name = "rests"

        def act(self, requests: list[Request]) -> list[Any]:
            raise AgentStopped("It rests.")

    monkeypatch.setattr(computing, "player", lambda *_, **__: Rests())
    truth = ask(ended())
    computing.compute_next()
    truth.refresh_from_db()
    assert (truth.state, truth.sentence) == (Truth.State.FAILED, "It rests.")


def test_a_slow_environment_is_forked_from_its_record() -> None:
    truth = ask(ended("math:GSM8K"))
    computing.compute_next()
    truth.refresh_from_db()
    assert truth.state == Truth.State.DONE
    assert truth.turns.count() == 1


def test_people_are_served_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(computing, "PART_SECONDS", 0.0)
    one, other = ended(seed=3), ended(seed=4)
    first, second = ask(one), ask(one, agent="expert")
    guest = ask(other, person="visitor:y")
    places = {truth.pk: computing.place(truth) for truth in (first, second, guest)}
    assert places[guest.pk] is not None
    assert places[second.pk] is not None
    assert places[guest.pk] < places[second.pk]


def test_a_closed_account_leaves_no_name(django_user_model: type[User]) -> None:
    user = django_user_model.objects.create_user("ada")
    episode = ended()
    truth = ask(episode, user=user, person=f"user:{user.pk}")
    part = next(part for part in personal_data._PARTS if part.stop.__module__ == "apps.lens.personal_data")
    part.stop(user)
    list(part.erase(user))
    truth.refresh_from_db()
    assert (truth.state, truth.person) == (Truth.State.STOPPED, "")


# ---------------------------------------------------------------- pages


def test_the_page_has_the_numbers_of_the_engine(client: Client) -> None:
    episode, other = ended(), ended()
    truth = ask(episode)
    computing.compute_next()
    page = client.get(reverse("lens:credit", args=[episode.pk]), {"discount": "0.7"})
    assert page.status_code == 200
    lens = credit.read(episode, NOBODY, "")
    assert [each.id for each in lens.group] == [other.pk]
    rows = credit.estimates(lens, 0.7)
    sheet = client.get(reverse("lens:csv", args=[episode.pk]), {"discount": "0.7"}).content.decode()
    read = list(csv.DictReader(io.StringIO(sheet)))
    assert [float(row["rebn"]) for row in read] == rows["rebn"]
    assert [float(row["grpo"]) for row in read] == rows["grpo"]
    assert [float(row["ppo"]) for row in read] == rows["ppo"]
    found = [true_advantage(turn.continuations, 0.7) for turn in truth.turns.all()]
    assert [float(row["true_random_16"]) for row in read] == [each.mean for each in found]
    data = client.get(reverse("lens:json", args=[episode.pk])).json()
    assert data["truths"][0]["turns"].keys() == {str(number) for number in range(1, episode.turn_count + 1)}
    assert data["critic"] == truth.pk
    heat = client.get(reverse("lens:same_seed", args=[episode.pk])).content.decode()
    assert episode.label in heat
    assert other.label in heat


def test_without_a_critic_or_a_group_there_are_no_numbers_for_them() -> None:
    rows = credit.estimates(credit.read(ended(), NOBODY, ""), 0.9)
    assert rows["ppo"] is None
    assert rows["grpo"] is None


@pytest.mark.parametrize("text", ["", "nan", "inf", "-1", "2", "x", "0.4999", "\x00"])
def test_what_is_no_discount_is_the_usual_one(text: str) -> None:
    assert credit.discount_from(text) == credit.USUAL_DISCOUNT


def test_a_private_episode_has_a_private_lens(client: Client, django_user_model: type[User]) -> None:
    owner = django_user_model.objects.create_user("owner")
    episode = ended(visibility="private")
    episode.seats.update(agent=Agent.objects.get(kind=Agent.Kind.HUMAN), user=owner)
    shown = ended()
    Episode.objects.filter(pk=shown.pk).update(visibility="private")
    shown.seats.update(agent=Agent.objects.get(kind=Agent.Kind.HUMAN), user=owner)
    open_one = ended()
    ask(episode, user=owner, person=f"user:{owner.pk}")
    for name in ("credit", "json", "csv", "same_seed"):
        address = reverse(f"lens:{name}", args=[episode.pk])
        assert client.get(address).status_code == 404
    assert client.post(reverse("lens:measure", args=[episode.pk])).status_code == 404
    assert episode.label not in client.get(reverse("lens:same_seed", args=[open_one.pk])).content.decode()
    client.force_login(owner)
    assert client.get(reverse("lens:credit", args=[episode.pk])).status_code == 200


def test_a_person_asks_and_stops_on_the_page(client: Client) -> None:
    episode = ended()
    sent = {"agent": "random", "count": "16", "which": "all", "turn": "2"}
    answer = client.post(reverse("lens:measure", args=[episode.pk]), sent)
    assert answer["Location"] == reverse("lens:turn", args=[episode.pk, 2]) + "#lens"
    truth = Truth.objects.get()
    assert client.post(reverse("lens:stop", args=[episode.pk, truth.pk])).status_code == 302
    truth.refresh_from_db()
    assert truth.state == Truth.State.STOPPED
    assert Client().post(reverse("lens:stop", args=[episode.pk, truth.pk])).status_code == 404


def test_programs_get_the_same(client: Client, django_user_model: type[User]) -> None:
    episode = ended()
    client.force_login(django_user_model.objects.create_user("ada"))
    address = f"/api/v1/episodes/{episode.pk}"
    sent = {"agent": "random", "continuations": 16, "turn": 2}
    answer = client.post(f"{address}/truths", json.dumps(sent), content_type="application/json")
    assert answer.status_code == 201
    truth = schemas.Truth.model_validate_json(answer.content)
    assert (truth.state, truth.first, truth.last, truth.turns) == ("waiting", 2, 2, [])
    computing.compute_next()
    read = schemas.Truth.model_validate_json(client.get(f"{address}/truths/{truth.id}?discount=0.7").content)
    stored = TurnTruth.objects.get(truth_id=truth.id)
    assert read.state == "done"
    assert read.turns[0].mean == true_advantage(stored.continuations, 0.7).mean
    assert sum(count for count, _ in read.turns[0].taken) == 16
    found = schemas.Credit.model_validate_json(client.get(f"{address}/credit?discount=0.7").content)
    rows = credit.estimates(credit.read(episode, NOBODY, ""), 0.7)
    assert [turn.rebn for turn in found.turns] == rows["rebn"]
    assert [turn.ppo for turn in found.turns] == [None] * episode.turn_count
    assert [each.id for each in found.truths] == [truth.id]
    assert client.delete(f"{address}/truths/{truth.id}").json()["state"] == "done"
    assert client.delete(f"{address}/truths/{'0' * 12}").status_code == 404
    assert client.get(f"{address}/credit?discount=3").status_code == 422
