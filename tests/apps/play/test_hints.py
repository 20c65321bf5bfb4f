"""Hints where there is no expert: the next step of a reference, told to whoever plays, and noted."""

from __future__ import annotations

import pytest
from django.core.cache import cache
from django.test import Client

from apps.accounts.models import User
from apps.episodes.models import Seat
from apps.play.starting import limits
from tests.apps.play.people import Person
from tests.html import tight

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


def hint(person: Person, key: str, **fields: str) -> str:
    return tight(person.client.get(f"/play/{key}/hint/", fields, headers=HTMX))


def test_the_terminal_tells_one_step_after_the_other_and_notes_it() -> None:
    cache.clear()
    person = Person()
    episode = person.begin("terminal:Shell-v0-easy", 3)
    assert "data-hint-button" in person.page(episode)
    told = [hint(person, episode.pk) for _ in range(5)]
    assert all("A next step." in text for text in told)
    assert "data-do-hint" not in told[0], "there is no action to send"
    assert told[0] != told[1] != told[2]
    assert told[3] == told[4], "the last one stays"
    assert Seat.objects.get(episode=episode).advised


def test_a_program_is_compared_with_the_reference() -> None:
    person = Person()
    episode = person.begin("code:CodeContest", 3)
    first = hint(person, episode.pk)
    assert "begins with <code>rows = [input().split()" in first
    second = hint(person, episode.pk, program="rows = [input().split() for _ in range(int(input()))]")
    assert "comes <code>rows.sort(" in second


def test_a_problem_tells_the_form_of_its_answer() -> None:
    person = Person()
    assert "The form of the answer: it is a" in hint(person, person.begin("math:Drawn-v0", 3).pk)
    assert "data-hint-button" not in person.page(person.begin("rg:gcd", 3)), "there is no reference at hand"


def test_hints_are_limited_per_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr(limits, "HINTS_PER_MINUTE", 2)
    person = Person()
    episode = person.begin("game:Sokoban-v0-easy", 3)
    answers = [person.client.get(f"/play/{episode.pk}/hint/", headers=HTMX) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert "You can ask for 2 hints per minute" in answers[2].content.decode()
    assert int(answers[2].headers["Retry-After"]) > 0
    assert person.client.get(episode.get_absolute_url()).status_code == 200


def test_programs_ask_for_no_more_hints_than_people(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    cache.clear()
    monkeypatch.setattr(limits, "HINTS_PER_MINUTE", 1)  # people with an account have four times as many
    client.force_login(User.objects.create_user("ada"))
    episode = Person(client).begin("game:GuessTheNumber-v0-easy", 3)
    api = f"/api/v1/episodes/{episode.pk}/hint"
    answers = [client.post(api), client.post(api), client.post(api), client.get(f"/play/{episode.pk}/hint/")]
    assert [answer.status_code for answer in answers] == [200] * 4
    refusal = client.post(api)
    assert refusal.status_code == 429, "pages and programs are counted together"
    assert "You can ask for 4 hints per minute" in refusal.json()["detail"]
    assert int(refusal.headers["Retry-After"]) > 0
