"""The catalog's pages over every registered environment."""

import html
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote, unquote

import pytest
from django.http import QueryDict
from django.test import Client

import gem.registry
from apps.catalog.badges import badges
from apps.catalog.entries import all_entries, argument_text, entry_of, families
from apps.catalog.filters import PROPERTIES, Filter
from apps.catalog.previews import preview
from gem import benchmarks
from gem.check import PROMISES, check
from gem.registry import ENV_REGISTRY
from tests.apps.catalog import odd
from tests.html import tight

ENV_IDS = [spec.id for spec in gem.registry.specs()]
OF_EACH_CLASS = list({spec.load(): spec.id for spec in gem.registry.specs()}.values())
"""One id of each class, of games that whose sizes are drawn."""

pytestmark = pytest.mark.django_db


def test_every_environment_says_its_rules() -> None:
    for env_id in ENV_IDS:
        page = entry_of(env_id).page
        assert page.summary, env_id
        for heading in ("Rules", "Actions", "Rewards", "Source"):
            assert page.section(heading) is not None, f"{env_id} does not say its {heading}"


@pytest.mark.parametrize("env_id", OF_EACH_CLASS)
def test_an_environment_of_each_class_has_a_page_and_a_picture(client: Client, env_id: str) -> None:
    seen = preview(env_id, wait=60)
    page = client.get(f"/environments/{env_id}/")
    assert page.status_code == 200
    assert env_id in page.content.decode()
    if gem.spec(env_id).cost == "slow":
        assert seen.state in ("elsewhere", "unavailable")
        return
    assert seen.state == "ready", seen.problem
    assert seen.sample is not None
    assert seen.sample.view["name"]


def test_the_list_has_every_environment(client: Client) -> None:
    pages = "".join(client.get(f"/environments/?page={number}").content.decode() for number in range(1, 9))
    assert all(f'href="/environments/{env_id}/"' in pages for env_id in ENV_IDS)


def test_htmx_gets_the_results_only(client: Client) -> None:
    part = client.get("/environments/?q=secret", headers={"HX-Request": "true"})
    assert part.content.decode().lstrip().startswith('<div class="stack" id="results">')
    assert "HX-Request" in part["Vary"]


@pytest.mark.parametrize("prop", PROPERTIES, ids=lambda prop: prop.name)
def test_every_choice_keeps_what_has_it_and_drops_the_rest(prop: Any) -> None:
    entries = all_entries()
    for value in {value for entry in entries for value in prop.read(entry)}:
        found = Filter.read(QueryDict(f"{prop.name}={quote(value)}")).apply(entries)
        assert {entry.id for entry in found} == {entry.id for entry in entries if value in prop.read(entry)}


def test_names_are_in_order_within_their_kind() -> None:
    names = [(entry.category, entry.spec.family.lower()) for entry in Filter.read(QueryDict("")).apply(all_entries())]
    for category in {category for category, _ in names}:
        own = [name for each, name in names if each == category]
        assert own == sorted(own)


def test_choices_words_and_an_address_go_together(client: Client) -> None:
    page = tight(client.get("/environments/?q=minesw&difficulty=hard&kind=Games"))
    assert re.findall(r'class="variant" href="/environments/([^"]*)/"', page) == ["game:Minesweeper-v0-hard"]
    assert 'value="hard" checked' in page
    assert "1 of " in page


def test_a_count_says_what_a_choice_would_leave() -> None:
    entries = all_entries()
    asked = Filter.read(QueryDict("kind=Games&difficulty=easy"))
    for facet in asked.facets(entries):
        for choice in facet.choices:
            only = Filter.read(QueryDict(asked.query))
            chosen = {**only.chosen, facet.name: frozenset({choice.value})}
            assert choice.count == len(replace(only, chosen=chosen).apply(entries)), choice


def test_an_empty_result_says_what_to_leave_out(client: Client) -> None:
    page = tight(client.get("/environments/?q=minesw&kind=Reasoning&difficulty=hard"))
    assert "No environment matches" in page
    links = re.findall(r'href="/environments/\?([^"]*)">without .*?note">(\d+) ', page)
    leave_out = {unquote(link): int(count) for link, count in links}
    assert leave_out
    for link, count in leave_out.items():
        found = Filter.read(QueryDict(html.unescape(link))).apply(all_entries())
        assert len(found) == count > 0


@pytest.mark.parametrize(
    "query", ["q=%00", "sort=nothing", "kind=nothing", "turns=", "q=" + "x" * 5000, "kind=Games&kind=Games", "%ff=%ff"]
)
def test_odd_addresses_are_answered(client: Client, query: str) -> None:
    assert client.get(f"/environments/?{query}").status_code == 200


def test_an_unknown_environment_is_not_found_and_the_nearest_is_named(client: Client) -> None:
    answer = client.get("/environments/game:GuessTheNumbr-v0-easy/")
    assert answer.status_code == 404
    assert 'href="/environments/game:GuessTheNumber-v0-easy/"' in answer.content.decode()


def test_an_argument_without_a_value_says_so() -> None:
    assert argument_text("") == "not set"
    assert argument_text(None) == "drawn at reset"
    assert argument_text(0) == "0"


def test_a_sample_of_a_program_keeps_its_lines(client: Client) -> None:
    page = client.get("/environments/code:CodeContest/").content.decode()
    assert "```python\nprint(sum(map(int, input().split())))\n```" in page


def test_a_duel_names_whom_it_is_against() -> None:
    assert entry_of("duel:TicTacToe-v0-vs-expert").difficulty == "against expert"
    assert entry_of("duel:TicTacToe-v0").difficulty == "default"


def test_a_family_has_all_its_difficulties() -> None:
    family = next(family for family in families(all_entries()) if family.name == "GuessTheNumber")
    assert [entry.difficulty for entry in family.entries] == ["default", "easy", "hard", "random"]
    assert family.pictured.difficulty == "hard"


@pytest.fixture
def odd_ones() -> Iterator[None]:
    """Environments that must not be a burden to the others."""
    gem.register("odd:Slow-v0", "tests.apps.catalog.odd:slow", cost="fast")
    gem.register("odd:Broken-v0", "tests.apps.catalog.odd:broken", cost="fast")
    gem.register("odd:Nowhere-v0", "tests.apps.catalog.no_such_module:Env", cost="fast")
    gem.register(
        "odd:Lacking-v0", "tests.apps.catalog.no_such_module:Env", cost="fast", requires=["no-such-package-at-all"]
    )
    gem.register("odd:Remote-v0", "tests.apps.catalog.odd:broken", cost="slow")
    yield
    for env_id in [env_id for env_id in ENV_REGISTRY if env_id.startswith("odd:")]:
        del ENV_REGISTRY[env_id]


def test_slow_and_broken_ones_neither_break_nor_hold_up_the_catalog(client: Client, odd_ones: None) -> None:
    listed = client.get("/environments/?kind=odd").content.decode()
    assert "odd:Slow-v0" in listed
    assert "needs no-such-package-at-all" in listed
    assert preview("odd:Slow-v0").state == "busy", "a page does not wait for it"
    slow = client.get("/environments/odd:Slow-v0/").content.decode()
    assert "Being checked" in slow
    assert 'hx-get="/environments/odd:Slow-v0/first-turn/"' in slow
    odd.go_on.set()
    assert preview("odd:Slow-v0", wait=30).state == "ready"
    part = client.get("/environments/odd:Slow-v0/first-turn/").content.decode()
    assert "The first turn, as an agent sees it" in part
    assert "Works here" in part


@pytest.mark.parametrize(
    ("env_id", "state", "said"),
    [
        ("odd:Broken-v0", "broken", "It failed when it was checked: OSError: the wire is cut"),
        ("odd:Nowhere-v0", "broken", "No module named"),
        ("odd:Lacking-v0", "missing", "pip install no-such-package-at-all"),
        ("odd:Remote-v0", "elsewhere", "It runs in worker processes"),
    ],
)
def test_health_names_what_is_the_matter(client: Client, odd_ones: None, env_id: str, state: str, said: str) -> None:
    found = preview(env_id, wait=30)
    assert (found.state, found.sample) == (state, None)
    assert said in found.problem
    page = html.unescape(client.get(f"/environments/{env_id}/").content.decode())
    assert found.badge.words in page
    assert said in page


def test_a_badge_is_shown_only_for_the_version_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = entry_of("game:GuessTheNumber-v0")
    found = benchmarks.check_result(entry.id, entry.spec.version)
    assert found is not None
    words = ["Keeps the contract", "Same seed, same episode", "State round trip"]
    assert [badge.words for badge in badges(entry.spec, found)] == words
    assert benchmarks.check_result(entry.id, entry.spec.version + 1) is None
    assert badges(entry.spec, None) == []
    broken = replace(found, findings={**found.findings, "repeats_in_other_processes": "wrong"})
    seed = badges(entry.spec, broken)[1]
    assert (seed.words, seed.tone) == ("Seeds do not repeat", "loss")
    unruly = replace(found, findings={**found.findings, "plays_to_its_end": "wrong"})
    assert badges(entry.spec, unruly)[0].words == "Breaks the contract"


def test_an_environment_whose_turns_follow_from_outside_has_the_badge_of_what_it_promises(client: Client) -> None:
    entry = entry_of("terminal:Shell-v0-hard")
    found = benchmarks.check_result(entry.id, entry.spec.version)
    assert [badge.words for badge in badges(entry.spec, found)] == ["Keeps the contract"]
    page = client.get("/environments/terminal:Shell-v0-hard/").content.decode()
    assert "Keeps the contract" in page
    assert "Only environments with exact replay guarantee" in page


def test_the_badges_rest_on_what_a_check_finds_now() -> None:
    for env_id in ("game:GuessTheNumber-v0-hard", "game:Wordle-v0-easy"):
        spec = gem.spec(env_id)
        stored = benchmarks.check_result(env_id, spec.version)
        assert stored is not None
        assert stored.findings == {p.key: f.status for p, f in zip(PROMISES, check(env_id), strict=True)}


def test_a_badge_says_what_it_means_to_everybody(client: Client) -> None:
    page = client.get("/environments/game:GuessTheNumber-v0/").content.decode()
    for key in ("contract", "seed", "state", "health"):
        assert f'tabindex="0" aria-describedby="means-{key}"' in page
        assert f'role="tooltip" id="means-{key}"' in page


def test_an_environment_that_this_machine_cannot_run_is_marked_and_not_begun(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gem.sandbox.shell._obstacle", "There are no namespaces.")
    env_id = "terminal:Shell-v0-easy"
    page = client.get(f"/environments/{env_id}/").content.decode()
    assert "This environment cannot be played here. There are no namespaces." in page
    assert 'name="env_id"' not in page
    form = client.get("/play/new/").content.decode()
    assert env_id not in form
    answer = client.post("/play/new/", {"env_id": env_id})
    assert answer.status_code == 422
    assert "cannot be played here. There are no namespaces." in answer.content.decode()


def test_a_mixture_is_listed_with_the_tools_of_its_parts(client: Client) -> None:
    env_id, parts = "mix:Tooled-v0", [{"env_id": "math:GSM8K-python"}, {"env_id": "game:Wordle-v0-easy"}]
    gem.register_mixture(env_id, {"parts": parts})
    try:
        assert env_id in client.get("/environments/?tools=python&q=Tooled").content.decode()
        assert env_id not in client.get("/environments/?tools=none&q=Tooled").content.decode()
        assert "tool uses as each part allows" in client.get(f"/environments/{env_id}/").content.decode()
    finally:
        del ENV_REGISTRY[env_id]
