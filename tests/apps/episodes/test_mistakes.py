"""Why an episode failed: the page says its first error, and the expert's view as soon as a worker has asked."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from apps.episodes.models import Batch, Episode, PendingMistakes
from apps.episodes.questions import mistakes
from tests.apps.play.people import Person
from tests.html import tight

pytestmark = pytest.mark.django_db
MINES, GUESS = "game:Minesweeper-v0-easy", "game:GuessTheNumber-v0-easy"
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def no_answers() -> None:
    cache.clear()


def failed(env_id: str = GUESS) -> Episode:
    """An episode of a person whose second turn the rules forbid, and which fails."""
    person = Person()
    episode = person.begin(env_id, seed=3)
    for action in ("\\boxed{10}", "\\boxed{900}", "\\boxed{9}", "\\boxed{10}", "\\boxed{8}"):
        person.send(episode, action)
    episode.refresh_from_db()
    assert episode.over
    assert not episode.success
    return episode


def ask(client: Client, episode: Episode) -> str:
    return tight(client.post(f"/episodes/{episode.pk}/ask-expert/", headers=HTMX))


def test_the_page_says_the_first_error_and_offers_the_expert(client: Client) -> None:
    episode = failed()
    page = tight(client.get(episode.get_absolute_url()))
    assert "Why did it fail?" in page
    assert 'data-errors="2' in page
    assert f'href="/episodes/{episode.pk}/turns/2/" data-jump-to="2"' in page
    assert "Ask the expert" in page


def test_a_worker_asks_and_the_page_says_what_the_expert_would_have_done(
    client: Client, django_capture_on_commit_callbacks: Any
) -> None:
    episode = failed()
    with django_capture_on_commit_callbacks() as messages:
        assert "A worker asks the expert" in ask(client, episode).replace("1st in the queue: a", "A")
    assert len(messages) == 1
    assert mistakes.answer_next()
    assert not mistakes.answer_next()
    said = tight(client.get(f"/episodes/{episode.pk}/why/", headers=HTMX))
    assert "Left the expert's path" in said
    assert "Largest loss of value" in said
    assert "hx-get" not in said, "nothing is waited for any more"
    assert "The expert would have sent <code>5</code>" in tight(client.get(episode.get_absolute_url()))


def test_the_expert_is_not_asked_about_what_runs_or_is_ranked(client: Client) -> None:
    person = Person()
    running = person.begin(GUESS)
    assert person.client.post(f"/episodes/{running.pk}/ask-expert/", headers=HTMX).status_code == 409
    ranked = failed()
    Episode.objects.filter(pk=ranked.pk).update(batch=Batch.objects.create(kind=Batch.Kind.SHOWCASE, closed=True))
    ranked = Episode.objects.get(pk=ranked.pk)
    assert not mistakes.can_be_asked(ranked)
    assert client.post(f"/episodes/{ranked.pk}/ask-expert/", headers=HTMX).status_code == 404
    assert not PendingMistakes.objects.exists()


def test_an_environment_that_fails_is_said(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    def broken(*_: Any) -> None:
        raise ZeroDivisionError("none")

    episode = failed()
    ask(client, episode)
    with monkeypatch.context() as patched:
        patched.setattr(mistakes, "find_mistakes", broken)
        assert mistakes.answer_next()
    assert not PendingMistakes.objects.exists()
    assert "executed again: ZeroDivisionError: none." in tight(client.get(f"/episodes/{episode.pk}/why/"))


def test_an_environment_that_has_changed_is_said(monkeypatch: pytest.MonkeyPatch, client: Client) -> None:
    episode = failed()
    Episode.objects.filter(pk=episode.pk).update(env_version=77)
    ask(client, episode)
    assert mistakes.answer_next()
    assert "was played on version 77" in tight(client.get(f"/episodes/{episode.pk}/why/"))
