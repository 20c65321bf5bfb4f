"""TV mode: the episode that is on stays until it ends, the most watched one is on first, and next are all others."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from apps.episodes.models import Episode
from apps.live import presence
from tests.apps.play.people import Person
from tests.html import tight

pytestmark = pytest.mark.django_db
GUESS = "game:GuessTheNumber-v0-easy"


def on(query: str = "", client: Client | None = None) -> str:
    """The episode that is on."""
    page = tight((client or Client()).get(f"/play/watch/tv/{query}", headers={"HX-Request": "true"}))
    assert "<h1" not in page
    found = re.search(r'data-on="(\w+)"', page)
    return found[1] if found else ""


def test_the_most_watched_is_on_and_stays_until_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person()
    quiet, watched, private = (person.begin(GUESS) for _ in range(3))
    Episode.objects.filter(pk=private.pk).update(visibility="private")
    counts = {f"episode:{watched.pk}": 3, f"episode:{private.pk}": 9}
    monkeypatch.setattr(presence, "counts", lambda keys: {key: counts.get(key, 0) for key in keys})
    assert on() == watched.pk
    assert on(f"?stay={quiet.pk}") == quiet.pk
    assert on(f"?stay={private.pk}") == watched.pk, "it is not listed"
    assert on(f"?after={watched.pk}") == quiet.pk
    person.client.post(f"/play/{watched.pk}/abandon/")
    assert on(f"?stay={watched.pk}") == quiet.pk
    person.client.post(f"/play/{quiet.pk}/abandon/")
    assert on(f"?stay={quiet.pk}&after=%00") == ""
    assert "Leave" in tight(Client().get("/play/watch/tv/"))


def test_next_goes_through_all_of_them() -> None:
    person = Person()
    newest_first = [person.begin(GUESS).pk for _ in range(3)][::-1]
    shown = [newest_first[0]]
    for _ in range(3):
        shown.append(on(f"?after={shown[-1]}"))
    assert shown == [*newest_first, newest_first[0]]
