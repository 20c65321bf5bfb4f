"""The tool bench: controls for the tools of whoever plays, what the tools answered, and trial runs of programs."""

from __future__ import annotations

import re
from contextlib import nullcontext
from typing import Any

import pytest
from django.core.cache import cache

import gem.sandbox
from apps.admission.models import account_in, name_of
from apps.episodes import operations
from apps.episodes.errors import Outdated
from apps.episodes.models import Episode
from apps.episodes.tools.passages import marked, passages
from apps.play.bench import trials
from apps.play.models import PendingTrial
from gem import replay
from gem.records import Identity
from tests.apps.play.people import Person
from tests.html import tight

pytestmark = pytest.mark.django_db
CODE = "code:CodeContest"


def test_a_page_has_a_control_for_each_tool_and_for_the_answer() -> None:
    page = Person().page(Person().begin("qa:HotpotQA-search", 2))
    assert "data-control" not in page, "somebody else plays"
    person = Person()
    page = person.page(person.begin("qa:HotpotQA-search", 2))
    assert re.findall(r'data-control="(\w+)"', page) == ["search", "answer"]
    assert 'data-before="&lt;search&gt;"' in page
    assert 'data-before="&lt;answer&gt;"' in page
    assert "js/editor.js" not in page
    page = person.page(person.begin("math:GSM8K-python", 2))
    assert re.findall(r'data-control="(\w+)"', page) == ["code", "answer"]
    assert "js/editor.js" in page
    page = person.page(person.begin("game:GuessTheNumber-v0", 2))
    assert "data-control" not in page, "a board needs no bench"


def test_what_a_search_found_stands_in_passages_that_open() -> None:
    person = Person()
    episode = person.begin("qa:HotpotQA-search", 2)
    env = replay.make_env(Identity(**episode.identity()))
    env.reset(seed=2)
    operations.record_turn(episode, env, "<search>longest river</search>")
    page = person.page(episode)
    assert 'aria-label="3 results"' in page
    assert "<mark>" in page
    assert page.count("&lt;information&gt;") == 1, "only in what an agent reads"


def test_passages_are_read_as_the_tool_writes_them() -> None:
    output = "Doc 1(Title: Mercury (planet)) It is small.\nDoc 3(Title: x\nDoc 2(Title: Sun) It is <large>."
    first, second = passages(output)
    assert (first.title, first.text) == ("Mercury (planet)", "It is small.\nDoc 3(Title: x")
    assert second.text == "It is <large>."
    assert passages("Nothing was found.") == passages("x Doc 1(Title: y) z") == []
    assert marked("Is it <large>?", "LARGE is") == "Is it &lt;<mark>large</mark>&gt;?"


# ---------------------------------------------------------------- trial runs


def tried(person: Person, episode: Episode, program: str) -> str:
    return tight(person.client.post(f"/play/{episode.pk}/try/", {"program": program}, headers={"HX-Request": "true"}))


@pytest.mark.skipif(gem.sandbox.level() == "disabled", reason="no sandbox here")
def test_a_program_is_tried_by_a_worker_and_costs_no_turn(django_capture_on_commit_callbacks: Any) -> None:
    cache.clear()
    person = Person()
    episode = person.begin(CODE, 3)
    assert "Trial run" in person.page(episode)
    with django_capture_on_commit_callbacks() as messages:
        waiting = tried(person, episode, "print(4)")
    assert len(messages) == 1
    address = re.search(r'hx-get="([^"]+)"', waiting)
    assert address
    charged: list[int | None] = []
    assert trials.answer_next(lambda owner: nullcontext(charged.append(owner)))
    assert charged == [None], "visitors have no account"
    assert not trials.answer_next()
    said = tight(person.client.get(address[1]))
    assert "0 of 1 passed" in said
    assert "wrong answer" in said
    assert Person().client.get(address[1]).status_code == 404, "only who plays sees it"
    episode.refresh_from_db()
    assert (episode.turn_count, episode.seq) == (0, 0)
    assert "0 of 1 pass" in tried(person, episode, "print(4)"), "the same program need not be run again"
    assert not PendingTrial.objects.exists()


def test_a_program_is_tried_only_where_the_problem_shows_tests_and_by_who_plays() -> None:
    person = Person()
    episode = person.begin(CODE, 3)
    assert "Somebody else is playing" in tried(Person(), episode, "print(1)")
    assert "shows no tests" in tried(person, person.begin("math:Drawn-v0", 3), "print(1)")
    assert not PendingTrial.objects.exists()


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ZeroDivisionError("none"), "The tests could not be run: ZeroDivisionError: none."),
        (Outdated("It has another version now."), "It has another version now."),
    ],
)
def test_a_trial_run_that_breaks_says_why(error: Exception, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Episode) -> None:
        raise error

    cache.clear()
    person = Person()
    episode = person.begin(CODE, 3)
    tried(person, episode, "print(1)")
    with monkeypatch.context() as patched:
        patched.setattr(trials, "restore", broken)
        assert trials.answer_next()
    said = person.client.get(f"/play/{episode.pk}/trial/?of={trials.digest_of('print(1)')}")
    assert sentence in tight(said)
    assert not PendingTrial.objects.exists()


def test_trial_runs_are_charged_to_the_account_of_the_person_who_plays() -> None:
    assert account_in(name_of(7)) == 7
    assert account_in(name_of(None, "7")) is None
    assert account_in(name_of(None)) is None


def test_the_last_program_that_somebody_asks_about_is_the_one_that_is_run() -> None:
    cache.clear()
    person = Person()
    episode = person.begin(CODE, 3)
    tried(person, episode, "print(1)")
    tried(person, episode, "print(2)")
    assert [trial.program for trial in PendingTrial.objects.all()] == ["print(2)"]
    gone = person.client.get(f"/play/{episode.pk}/trial/?of={trials.digest_of('print(1)')}")
    assert "No worker has run the program" in tight(gone)
