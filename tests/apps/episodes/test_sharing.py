"""Replays outside the site: frames on other sites, and files that need no network."""

from __future__ import annotations

import asyncio
import hashlib
import re
from base64 import b64encode
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from apps.episodes.models import Batch, Episode
from apps.visibility import Visibility
from tests.apps.play.people import Person
from tests.html import tight

pytestmark = pytest.mark.django_db(transaction=True)
GUESS = "game:GuessTheNumber-v0-easy"


@pytest.fixture
def person() -> Person:
    cache.clear()
    return Person()


@pytest.fixture
def episode(person: Person) -> Episode:
    """An episode of `person` that is over, in which somebody wrote a script."""
    begun = person.begin(GUESS, seed=3)
    for action in ("\\boxed{10} </script><script>alert(1)</script>", *(f"\\boxed{{{n}}}" for n in (9, 8, 7, 6))):
        person.send(begun, action)
    begun.refresh_from_db()
    assert begun.over
    return begun


def saved(client: Client, episode: Episode) -> str:
    """The file that this person saves."""
    answer: Any = client.get(f"/episodes/{episode.pk}/replay.html")
    assert answer.status_code == 200
    assert answer["Content-Disposition"] == f'attachment; filename="episode-{episode.pk}.html"'

    async def read() -> bytes:
        return b"".join([part async for part in answer.streaming_content])

    return asyncio.run(read()).decode()


def test_only_the_frame_may_stand_on_other_sites_and_it_knows_nobody(client: Client, episode: Episode) -> None:
    frame = client.get(f"/episodes/{episode.pk}/embed/")
    assert "X-Frame-Options" not in frame
    assert "frame-ancestors *" in frame["Content-Security-Policy"]
    assert "script-src 'self'" in frame["Content-Security-Policy"]
    assert not frame.cookies
    assert 'target="_blank" rel="noopener"' in tight(frame)
    page = client.get(episode.get_absolute_url())
    assert page["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in page["Content-Security-Policy"]


def test_a_frame_shows_what_everybody_may_see(person: Person, episode: Episode) -> None:
    for visibility, status in ((Visibility.PUBLIC, 200), (Visibility.UNLISTED, 200), (Visibility.PRIVATE, 404)):
        Episode.objects.filter(pk=episode.pk).update(visibility=visibility)
        for client in (Client(), person.client):
            assert client.get(f"/episodes/{episode.pk}/embed/").status_code == status
    assert "<iframe" not in person.page(episode), "the owner of a private episode is not offered what would not work"


def test_a_file_has_every_turn_and_asks_nothing_from_a_network(client: Client, episode: Episode) -> None:
    file = saved(client, episode)
    assert re.findall(r'data-frame="(\d+)"', file) == [str(turn) for turn in range(episode.turn_count + 1)]
    addresses = set(re.findall(r'(?:src|href)="([^"#]+)"', file))
    assert addresses == {next(address for address in addresses if address.endswith(f"/episodes/{episode.pk}/"))}
    assert "@import" not in file
    assert "url(" not in re.sub(r"url\(#", "", file)


def test_only_our_own_script_runs_in_a_file(client: Client, episode: Episode) -> None:
    file = saved(client, episode)
    scripts = re.findall(r"<script[^>]*>(.*?)</script>", file, re.DOTALL)
    assert len(scripts) == 1
    digest = b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'" in file
    assert "import " not in re.sub(r"//.*", "", scripts[0])


def test_nothing_of_a_ranked_episode_leaves_the_site_before_its_season_ends(person: Person, episode: Episode) -> None:
    batch = Batch.objects.create(kind=Batch.Kind.SHOWCASE, closed=True)
    Episode.objects.filter(pk=episode.pk).update(batch=batch)
    assert person.client.get(f"/episodes/{episode.pk}/replay.html").status_code == 409
    assert Client().get(f"/episodes/{episode.pk}/replay.html").status_code == 404
    for client in (person.client, Client()):
        assert client.get(f"/episodes/{episode.pk}/embed/").status_code == 404
    page = person.page(episode)
    assert "Share this episode" not in page
    assert 'id="why"' not in page


def test_what_still_runs_is_not_saved(person: Person) -> None:
    running = person.begin(GUESS)
    assert person.client.get(f"/episodes/{running.pk}/replay.html").status_code == 409
