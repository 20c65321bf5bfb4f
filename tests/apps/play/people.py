"""People who play through the web: a client that keeps the seq of the page it sees."""

from __future__ import annotations

import re
from typing import Any

from django.http import HttpResponse
from django.test import Client

from apps.episodes.models import Episode
from tests.html import tight

BOX = "\\boxed{%s}"


class Person:
    """Somebody in front of the site, with an account or without."""

    def __init__(self, client: Client | None = None) -> None:
        self.client = client or Client()

    def begin(self, env_id: str, seed: int | str = "", **fields: Any) -> Episode:
        """Start an episode by the form."""
        answer = self.client.post("/play/new/", {"env_id": env_id, "seed": seed, **fields})
        assert answer.status_code == 302, answer.content[:2000]
        return Episode.objects.get(pk=answer["Location"].rstrip("/").rpartition("/")[2])

    def send(
        self, episode: Episode, action: str, *, seq: int | str | None = None, htmx: bool = True, **fields: Any
    ) -> HttpResponse:
        """Send a turn, by default as the page would that shows the present board."""
        expected = Episode.objects.get(pk=episode.pk).seq if seq is None else seq
        headers = {"HX-Request": "true"} if htmx else {}
        return self.client.post(
            f"/play/{episode.id}/turn/", {"action": action, "expected_seq": expected, **fields}, headers=headers
        )

    def link(self, episode: Episode) -> str:
        """The path of the link to the free seat, as the page offers it."""
        found = re.search(r'data-copy="https?://[^/"]+(/play/[^"]+/seat/[^"]+)"', self.page(episode))
        assert found, "the page offers no link"
        return found[1]

    def sit_down(self, link: str) -> HttpResponse:
        """Open the link to a free seat and take it."""
        assert "Take the seat" in self.client.get(link).content.decode()
        return self.client.post(link)

    def page(self, episode: Episode) -> str:
        """The episode's page."""
        return tight(self.client.get(episode.get_absolute_url()))


def notice(answer: HttpResponse) -> str:
    """What an answer says was refused, without markup; empty if nothing was."""
    html = tight(answer)
    found = re.search(r'<div id="notice"[^>]*><div class="callout".*?</div></div>', html, re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", found[0]).split()) if found else ""
