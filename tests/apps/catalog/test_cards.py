"""The cards of the catalog: variants, boards, what is played most, and examples that are right."""

import html
import re

import pytest
from django.core.cache import cache
from django.test import Client

import gem
from apps.catalog import plays
from apps.catalog.entries import all_entries, families
from apps.catalog.previews import preview
from apps.episodes.lists.plays import count_if_due
from apps.episodes.models import Episode
from tests.apps.play.people import Person
from tests.html import tight

pytestmark = pytest.mark.django_db
DRAWN = "math:Drawn-v0-easy"


def test_variants_of_one_environment_share_a_card() -> None:
    by_name = {(family.first.spec.category, family.name): family for family in families(all_entries())}
    assert [entry.variant for entry in by_name["qa", "HotpotQA"].entries] == ["default", "with search"]
    assert [entry.variant for entry in by_name["logic", "RuleTaker"].entries] == ["d0", "d1", "d2", "d3", "d5"]
    assert "hard, v1" in [entry.variant for entry in by_name["game", "Game2048"].entries]
    for family in by_name.values():
        names = [entry.variant for entry in family.entries]
        assert len(set(names)) == len(names), family.name


def test_every_environment_says_its_board() -> None:
    unknown = [entry.id for entry in all_entries() if not entry.board_kind]
    assert unknown == []


def test_a_board_is_chosen_by_a_link_that_keeps_the_other_choices(client: Client) -> None:
    page = tight(client.get("/environments/?difficulty=hard"))
    letters = html.unescape(re.findall(r'<a class="pick" href="([^"]*board=Letters[^"]*)"', page)[0])
    found = tight(client.get(letters))
    assert re.findall(r'class="variant" href="/environments/([^"]*)/"', found) == [
        "game:Hangman-v0-hard", "game:Mastermind-v0-hard", "game:Wordle-v0-hard",
    ]  # fmt: skip
    assert '<input type="hidden" name="board" value="Letters" form="filter">' in found


def test_what_is_played_most_comes_first(client: Client) -> None:
    plays.keep({"game:Wordle-v0-hard": 5, "game:Wordle-v0-easy": 4, "duel:TicTacToe-v0": 7})
    plays._numbers.cache_clear()
    page = tight(client.get("/environments/?sort=played"))
    assert re.findall(r'<h3 id="[^"]*"> ?<a href="[^"]*">([^<]*)<', page)[:2] == ["Wordle", "TicTacToe"]
    assert plays.are_fresh()
    plays._numbers.cache_clear()


def test_plays_of_people_and_shows_are_counted_and_those_of_jobs_are_not() -> None:
    cache.clear()
    person = Person()
    for env_id in (DRAWN, DRAWN, "game:Wordle-v0-easy"):
        person.begin(env_id)
    Episode.objects.filter(pk=person.begin(DRAWN).pk).update(of_job=True)
    Episode.objects.filter(pk=person.begin(DRAWN).pk).update(visibility="private")
    count_if_due()
    plays._numbers.cache_clear()
    assert plays.numbers() == {DRAWN: 2, "game:Wordle-v0-easy": 1}
    person.begin(DRAWN)
    count_if_due()
    plays._numbers.cache_clear()
    assert plays.numbers()[DRAWN] == 2, "it was counted a short time ago"
    cache.clear()
    plays._numbers.cache_clear()


@pytest.mark.parametrize("env_id", [DRAWN, "qa:NaturalQuestions", "logic:RuleTaker-d0", "code:Taco8k"])
def test_the_reference_of_a_problem_is_right(env_id: str) -> None:
    env = gem.make(env_id)
    for seed in range(3):
        env.reset(seed=seed)
        action = env.unwrapped.reference_action()  # type: ignore[attr-defined]
        assert action
        if gem.spec(env_id).cost == "fast":
            assert env.step(action)[1] == 1.0


def test_a_page_shows_a_right_answer_and_no_random_one(client: Client) -> None:
    found = preview(DRAWN, wait=30)
    assert found.sample is not None
    assert found.sample.by == "reference"
    page = tight(client.get(f"/environments/{DRAWN}/"))
    assert "action with the reference answer" in page
    assert "There is no example episode" not in page
    slow = preview("math:GSM8K", wait=30)
    assert (slow.state, slow.sample is not None) == ("elsewhere", True)
