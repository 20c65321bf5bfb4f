"""What the pages of play say is true: how a contest ended, what can be sent, undone and hinted, and on which device."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from apps.episodes.contests import contest_result
from apps.episodes.models import Episode, Turn
from apps.episodes.templatetags.episodes import by_touch, gist
from apps.episodes.text import example_in
from gem import benchmarks
from tests.apps.play.people import BOX, Person, notice
from tests.html import tight

pytestmark = pytest.mark.django_db
GUESS, FOUR = "game:GuessTheNumber-v0-easy", "duel:ConnectFour-v0-vs-expert"


@pytest.fixture
def person() -> Person:
    return Person()


def test_without_a_turn_there_is_nothing_to_undo(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    answer = person.client.post(f"/play/{episode.pk}/undo/", headers={"HX-Request": "true"})
    assert answer.status_code == 409
    assert notice(answer).startswith("There is nothing to undo.")
    assert "over" not in notice(answer)


def test_a_lost_contest_is_lost_and_not_unsolved(person: Person) -> None:
    episode = person.begin(FOUR, 4)
    for column in (1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4):
        answer = person.send(episode, BOX % column)
        episode.refresh_from_db()
        if episode.over:
            break
    assert contest_result(episode) == "lost"
    assert "You lost after" in tight(answer)
    page = tight(Client().get(episode.get_absolute_url()))
    assert "Lost after" in page
    assert "Not solved" not in page


@pytest.mark.parametrize(
    ("env_id", "success", "total", "said"),
    [
        (FOUR, True, 1.0, "won"),
        (FOUR, False, 0.0, "drawn"),
        ("duel:KuhnPoker-v0-vs-random", False, -2.0, "lost"),
        ("duel:Negotiation-v0-vs-expert", False, 0.0, ""),
        (GUESS, False, 0.0, ""),
        ("duel:Gone-v0-vs-expert", False, -1.0, ""),
    ],
)
def test_a_result_is_named_where_one_side_wins_what_the_other_loses(
    person: Person, env_id: str, success: bool, total: float, said: str
) -> None:
    episode = person.begin(GUESS, 7)
    episode.seats.update(total_reward=total, success=success)
    Episode.objects.filter(pk=episode.pk).update(env_id=env_id, status=Episode.Status.ENDED, success=success)
    assert contest_result(Episode.objects.get(pk=episode.pk)) == said


def test_the_field_shows_the_form_that_the_environment_reads(person: Person) -> None:
    episode = person.begin("qa:HotpotQA-search", 7)
    page = person.page(episode)
    assert "write the action yourself: &lt;search&gt;…&lt;/search&gt; or &lt;answer&gt;…&lt;/answer&gt;" in page
    answer = person.send(episode, "Paris")
    assert answer.status_code == 422
    assert 'value="&lt;answer&gt;Paris&lt;/answer&gt;"' in tight(answer)


def test_an_example_is_a_box_tags_or_both() -> None:
    assert example_in("For example \\boxed{reveal 3 4}.") == "\\boxed{reveal 3 4}"
    assert example_in("between <python> and </python>; the answer in \\boxed{}") == "<python>…</python> or \\boxed{…}"
    assert example_in("between <search> and </search>, answered between <information> and </information>") == (
        "<search>…</search>"
    )
    assert example_in("Say anything.") == "\\boxed{…}"


def test_what_a_tool_found_is_shown_without_tags() -> None:
    calls = [{"tool": "search", "arguments": {"query": "steel"}, "output": "Doc 1(Title: Steel) Steel is iron."}]
    turn = Turn(number=1, observation="<information>Doc 1</information>", info={"tool_calls": calls})
    assert gist(turn) == "Steel"
    assert gist(Turn(number=1, observation="It is higher.", info={})) == "It is higher."


def test_a_question_stands_once_on_a_page(person: Person) -> None:
    episode = person.begin("math:Drawn-v0-easy", 7)
    observation = re.search(r'<section class="panel" id="observation".*?</section>', person.page(episode), re.DOTALL)
    assert observation
    before_details, _, details = observation[0].partition("<details")
    assert episode.first_observation[:40] not in before_details
    assert episode.first_observation[:40] in details
    assert "\\boxed{}" in before_details, "what the board does not show is there"


def test_a_running_replay_has_no_return_yet(person: Person) -> None:
    episode = person.begin(GUESS, 7)
    person.send(episode, BOX % 1)
    replay = tight(Client().get(f"/episodes/{episode.pk}/turns/1/"))
    assert "Reward so far" in replay
    assert "<dt>Return</dt>" not in replay


def test_a_hint_on_a_ranked_seed_says_what_it_costs(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    games = benchmarks.load("games")
    monkeypatch.setattr(benchmarks, "ranking", lambda _, seed: games if seed == 7 else None)
    episode = person.begin("game:GuessTheNumber-v0-hard", 7)
    assert "After a hint, an undo or a turn by the expert" in person.page(episode)
    hint = tight(person.client.get(f"/play/{episode.pk}/hint/", headers={"HX-Request": "true"}))
    assert "Because of this hint, the episode does not count" in hint
    assert "data-do-hint" in hint
    free = person.begin("game:GuessTheNumber-v0-hard", 4_000_000)
    assert "does not count" not in person.page(free)


@pytest.mark.parametrize(
    ("gesture", "touch"),
    [("click", "tap"), ("right click", "long press"), ("click beside you", "tap beside you"), ("F", ""), ("Enter", "")],
)
def test_gestures_have_names_for_fingers_and_keys_have_none(gesture: str, touch: str) -> None:
    assert by_touch(gesture) == touch


def test_nobody_can_pick_more_than_there_is(person: Person) -> None:
    episode = person.begin("duel:Negotiation-v0-vs-expert", 3)
    assert re.search(r'data-most="\d \d \d"', person.page(episode))


def test_forms_offer_the_expert_where_there_is_one(person: Person) -> None:
    for address, name in (("/play/watch/new/", "agent"), ("/play/duel/new/", "second")):
        for env_id, has_expert in (("math:GSM8K", False), (GUESS, True)):
            page = tight(person.client.get(f"{address}?env_id={env_id}"))
            field = re.search(rf'<select name="{name}".*?</select>', page, re.DOTALL)
            assert field
            assert ('value="expert"' in field[0]) == has_expert
    part = person.client.get("/play/watch/new/?env_id=game:Soko", headers={"HX-Request": "true"})
    assert part.status_code == 200, "what is typed may be the beginning of an id"
