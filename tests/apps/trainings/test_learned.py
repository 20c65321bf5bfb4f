"""What recipes learned, on the pages of environments and in the catalog."""

from __future__ import annotations

import pytest
from django.test import Client

from apps.catalog.learned import best_of, learned
from apps.site.templatetags.ui import unbroken
from tests.html import tight

pytestmark = pytest.mark.django_db


def test_every_measured_recipe_has_a_curve() -> None:
    found = learned()
    assert found
    for one in found:
        assert one.line.startswith("M0.0 ")
        assert one.line.count("L") == len(one.result.seeds[0].curve) - 1
        assert 0 <= one.level <= 60


def test_the_catalog_marks_what_was_learned_here_with_its_curve(client: Client) -> None:
    page = tight(client.get("/environments/?q=guessthenumber"))
    one = next(one for one in learned() if one.env_id == "game:GuessTheNumber-v0-easy")
    assert f'class="learned-line" href="/studies/curves/{one.recipe.name}/"' in page
    assert f'aria-label="{one.in_words}"' in page
    assert "learned here" in page
    assert "easier version" not in page
    assert "easier version learned here" in tight(client.get("/environments/?q=sokoban")), "in rooms of 5 by 5"
    assert "learned-line" not in tight(client.get("/environments/?q=crosswords"))


def test_the_page_of_an_environment_shows_what_learned_it(client: Client) -> None:
    one = learned()[0]
    page = tight(client.get(f"/environments/{one.env_id}/"))
    assert 'href="#learned"' in page
    assert f"/jobs/train/learned/?env_id={one.env_id.replace(':', '%3A')}" in page
    part = tight(client.get("/jobs/train/learned/", {"env_id": one.env_id}))
    assert unbroken(one.recipe.expected) in part
    assert one.recipe.summary in part
    other = next(env_id for env_id in ("duel:Negotiation-v0", "qa:HotpotQA") if best_of(env_id) is None)
    assert client.get("/jobs/train/learned/", {"env_id": other}).content == b""
    assert 'href="#learned"' not in tight(client.get(f"/environments/{other}/"))
