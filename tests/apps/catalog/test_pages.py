"""The catalog's pages over every registered environment."""

from urllib.parse import quote

import pytest
from django.test import Client

import gem.registry
from apps.catalog.entries import all_entries, entry_of, families
from apps.catalog.filters import PROPERTIES

ENV_IDS = [spec.id for spec in gem.registry.specs()]

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_every_environment_says_its_rules(client: Client, env_id: str) -> None:
    entry = entry_of(env_id)
    assert entry.page.summary
    for heading in ("Rules", "Actions", "Rewards", "Source"):
        assert entry.page.section(heading) is not None, f"{env_id} does not say its {heading}"
    assert client.get(f"/environments/{env_id}/").status_code == 200


@pytest.mark.parametrize("env_id", ENV_IDS)
def test_every_environment_has_a_picture(env_id: str) -> None:
    entry = entry_of(env_id)
    assert entry.sample is not None
    assert entry.sample.view["name"]


def test_the_list_has_every_environment(client: Client) -> None:
    page = client.get("/environments/").content.decode()
    assert all(f">{env_id}<" in page for env_id in ENV_IDS)


def test_htmx_gets_the_results_only(client: Client) -> None:
    part = client.get("/environments/?q=secret", headers={"HX-Request": "true"})
    assert part.content.decode().lstrip().startswith('<div class="stack" id="results">')
    assert "HX-Request" in part["Vary"]


@pytest.mark.parametrize("prop", PROPERTIES, ids=lambda prop: prop.name)
def test_every_choice_keeps_what_has_it_and_drops_the_rest(client: Client, prop: object) -> None:
    name, read = prop.name, prop.read  # type: ignore[attr-defined]
    for value in {read(entry) for entry in all_entries()}:
        page = client.get(f"/environments/?{name}={quote(value)}").content.decode()
        for entry in all_entries():
            assert (f">{entry.id}<" in page) == (read(entry) == value)


@pytest.mark.parametrize(
    "query", ["q=%00", "sort=nothing", "kind=nothing", "turns=", "q=" + "x" * 5000, "kind=Games&kind=Games", "%ff=%ff"]
)
def test_odd_addresses_are_answered(client: Client, query: str) -> None:
    assert client.get(f"/environments/?{query}").status_code == 200


def test_an_unknown_environment_is_not_found_and_the_nearest_is_named(client: Client) -> None:
    answer = client.get("/environments/game:GuessTheNumbr-v0-easy/")
    assert answer.status_code == 404
    assert "game:GuessTheNumber-v0-easy" in answer.content.decode()


def test_a_family_has_all_its_difficulties() -> None:
    family = next(family for family in families(all_entries()) if family.name == "GuessTheNumber")
    assert [entry.difficulty for entry in family.entries] == ["default", "easy", "hard", "random"]
    assert family.pictured.difficulty == "hard"
