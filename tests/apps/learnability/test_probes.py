"""Probes: asked for on the page of an environment, computed once by a worker, and seen by everybody."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from apps import leases
from apps.accounts.models import User
from apps.episodes.errors import NotFound, TooFast
from apps.learnability import asking, computing
from apps.learnability.models import Probe
from apps.learnability.personal_data import PART
from gem import registry
from gem.learnability import Stopped
from tests.html import tight

pytestmark = pytest.mark.django_db
GUESS = "game:GuessTheNumber-v0-easy"
HEAD = {"HTTP_HX_REQUEST": "true"}


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """However slow the machine is, a probe is finished. The heartbeat's thread sees no rows of a test."""
    monkeypatch.setattr(computing, "MOST_SECONDS", 3600.0)
    monkeypatch.setattr(computing, "SEEDS", 12)
    monkeypatch.setattr(leases, "LOOK_SECONDS", 3600.0)
    settings.LEASE_SECONDS = settings.HEARTBEAT_SECONDS = 3600.0


def ask(env_id: str = GUESS, person: str = "visitor:x", address: str = "") -> Probe:
    return asking.ask(registry.spec(env_id), person=person, address=address)


def test_a_probe_is_computed_once_and_everybody_sees_the_verdict() -> None:
    client = Client()
    address = f"{reverse('learnability:probe')}?env_id={GUESS}"
    assert "Find out" in tight(client.get(address, **HEAD))
    part = tight(client.post(reverse("learnability:ask"), {"env_id": GUESS}, **HEAD))
    assert "Number 1 in the queue" in part
    assert "every 2s" in part
    found = Probe.objects.get()
    assert ask(person="visitor:y") == found
    assert computing.compute_next()
    assert not computing.compute_next()
    found.refresh_from_db()
    assert (found.state, found.lease_token) == (Probe.State.DONE, None)
    assert found.content["kind"] == "has a signal"
    part = tight(Client().get(address, **HEAD))
    assert "Has a signal" in part
    assert "random" in part
    assert "expert" in part
    assert "every 2s" not in part
    whole = tight(Client().get(address))
    assert "<html" in whole
    assert "Has a signal" in whole
    page = Client().post(reverse("learnability:ask"), {"env_id": GUESS})
    assert page.url == f"{reverse('catalog:environment', args=[GUESS])}#learnable"


def test_reward_without_the_task_is_named() -> None:
    ask("duel:PrisonersDilemma-v0-vs-random")
    computing.compute_next()
    found = Probe.objects.get()
    assert found.state == Probe.State.DONE
    assert {row["name"] for row in found.content["rows"]} >= {"random", "expert"}


def test_what_cannot_be_probed_says_why() -> None:
    with pytest.raises(NotFound, match="fixed opponent"):
        ask("duel:TicTacToe-v0")
    address = reverse("learnability:probe")
    assert "fixed opponent" in tight(Client().get(address, {"env_id": "duel:TicTacToe-v0"}, **HEAD))
    assert Client().get(address, {"env_id": "game:Nothing-v0"}).status_code == 404
    assert Client().post(reverse("learnability:ask"), {"env_id": "game:Nothing-v0"}).status_code == 404
    assert not Probe.objects.exists()


def test_one_that_takes_too_long_ends_and_can_begin_again(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ask()
    with monkeypatch.context() as patch:
        patch.setattr(computing, "MOST_SECONDS", 0.0)
        computing.compute_next()
    found.refresh_from_db()
    assert found.state == Probe.State.FAILED
    assert "gemweb learnable" in found.sentence
    assert "Try again" in tight(Client().get(reverse("learnability:probe"), {"env_id": GUESS}, **HEAD))
    assert ask(person="visitor:y") == found
    found.refresh_from_db()
    assert (found.state, found.person) == (Probe.State.WAITING, "visitor:y")
    assert computing.compute_next()
    found.refresh_from_db()
    assert found.state == Probe.State.DONE


def test_a_worker_that_ends_passes_it_on_and_lost_workers_end_it(settings: Any) -> None:
    found = ask()
    assert computing.compute_next(lambda: True)
    found.refresh_from_db()
    assert (found.state, found.attempt, found.lease_token) == (Probe.State.WAITING, 0, None)
    assert asking.wake_workers() == 1
    Probe.objects.update(attempt=settings.MAX_ATTEMPTS)
    computing.compute_next()
    found.refresh_from_db()
    assert (found.state, found.sentence) == (Probe.State.FAILED, computing.GAVE_UP)


def test_a_worker_that_has_lost_a_probe_writes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ask()
    others = uuid.uuid4()

    def is_taken(*_: Any, **__: Any) -> None:
        monkeypatch.setattr(computing, "MOST_SECONDS", -1.0)
        Probe.objects.filter(pk=found.pk).update(lease_token=others)
        raise Stopped

    monkeypatch.setattr(computing, "probe", is_taken)
    assert computing.compute_next()
    found.refresh_from_db()
    assert (found.state, found.lease_token) == (Probe.State.WAITING, others)


def test_nobody_fills_the_queue_alone() -> None:
    for env_id in ("game:Hangman-v0-easy", "game:Wordle-v0-easy"):
        ask(env_id)
    with pytest.raises(asking.Crowded):
        ask()
    assert ask(person="visitor:y", address="b").state == Probe.State.WAITING
    client = Client()
    for env_id in ("game:Sudoku-v0-easy", "game:Sokoban-v0-easy", "game:WordSearch-v0-easy"):
        answer = client.post(reverse("learnability:ask"), {"env_id": env_id}, **HEAD)
    assert answer.status_code == 429
    assert "Too many probes" in tight(answer)


def test_a_visitor_asks_so_often_in_an_hour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MOST_OPEN", 100)
    monkeypatch.setattr(asking, "PER_HOUR", 1)
    ask(address="a")
    with pytest.raises(TooFast, match="in an hour"):
        ask("game:Hangman-v0-easy", address="a")


def test_an_account_leaves_no_name_behind() -> None:
    ann = User.objects.create_user("ann")
    found = ask(person=f"user:{ann.pk}")
    list(PART.erase(ann))
    found.refresh_from_db()
    assert found.person == ""
