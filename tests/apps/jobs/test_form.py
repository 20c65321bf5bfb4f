"""The form of evaluations: search, choose, who plays what, JSON in and out; with and without JavaScript."""

from __future__ import annotations

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.jobs.models import Job
from gem.evaluation import selection
from tests.html import tight

EASY, GCD, GROUP = "game:GuessTheNumber-v0-easy", "rg:gcd", "game:*-v0-easy"
FORM: dict[str, Any] = {
    "agent": ["random"], "benchmark": "", "env_id": [EASY], "episodes_per_env": "2", "seed": "0", "num_envs": "8",
}  # fmt: skip
HTMX = {"HX-Request": "true"}


def press(client: Client, do: str, *, htmx: bool = False, **more: Any) -> str:
    """Press a button of the form, and return the page or the fragment that comes of it."""
    answer = client.post("/jobs/new/change/", {**FORM, **more, "do": do}, headers=HTMX if htmx else {})
    assert answer.status_code == 200
    assert not Job.objects.exists()
    return tight(answer)


def values(page: str, name: str) -> list[str]:
    """The values of the hidden fields and ticked boxes of this name."""
    fields = re.findall(rf'<input[^>]*name="{name}"[^>]*>', page)
    sent = [field for field in fields if "checkbox" not in field or "checked" in field]
    return [unescape(re.findall(r'value="([^"]*)"', field)[0]) for field in sent]


@pytest.mark.parametrize("htmx", [False, True])
def test_environments_are_chosen_by_the_buttons_beside_what_was_found(as_ada: Client, htmx: bool) -> None:
    assert values(press(as_ada, f"add {GCD}", htmx=htmx), "env_id") == [EASY, GCD]
    assert values(press(as_ada, f"add {GROUP}", htmx=htmx), "env_id") == [GROUP], "it has the one that was chosen"
    assert values(press(as_ada, f"remove {EASY}", htmx=htmx, env_id=[EASY, GCD]), "env_id") == [GCD]
    assert values(press(as_ada, f"remove {GROUP}", htmx=htmx, env_id=[GROUP, GCD]), "env_id") == [GCD]
    assert values(press(as_ada, "add nothing:*", htmx=htmx), "env_id") == [EASY]
    page = press(as_ada, "search", htmx=htmx, find="gcd")
    assert f'value="add {GCD}"' in page
    assert 'value="add game:Sokoban-v0"' not in page


@pytest.mark.parametrize(
    ("search", "tokens"),
    [
        ({"find": "gcd"}, [GCD]),
        ({"find_category": "duel"}, ["duel:*"]),
        ({"find_category": "game", "find_difficulty": "easy"}, [GROUP]),
        ({"find": "two-to-nothing"}, []),
    ],
)
def test_a_search_finds_by_words_category_and_difficulty(
    as_ada: Client, search: dict[str, str], tokens: list[str]
) -> None:
    headers = {**HTMX, "HX-Trigger-Name": "find"}
    found = tight(as_ada.post("/jobs/new/change/", {**FORM, **search}, headers=headers))
    assert "<html" not in found
    buttons = [unescape(text) for text in re.findall(r'value="(?:add|remove) ([^"]*)"', found)]
    assert buttons[: len(tokens)] == tokens
    assert bool(buttons) == bool(tokens)
    assert ("No environment matches all of these" in found) == (not tokens)


def test_a_benchmark_finds_its_environments(as_ada: Client) -> None:
    found = press(as_ada, "search", htmx=True, find_benchmark="games")
    assert 'aria-label="All 25 of Games"' in found


def test_agents_are_found_by_name_and_only_those_that_one_may_use(as_ada: Client, ada: User) -> None:
    bob = User.objects.create_user("bob")
    for slug, visibility, owner in (
        ("walker-a", "public", bob),
        ("walker-b", "private", bob),
        ("walker-c", "private", ada),
        ("walker-d", "unlisted", bob),
    ):
        kind = {"name": slug, "kind": Agent.Kind.CHECKPOINT, "colour": 1, "owner": owner, "visibility": visibility}
        Agent.objects.create(slug=slug, listed=False, **kind)
    headers = {**HTMX, "HX-Trigger-Name": "find_agent"}
    found = tight(as_ada.post("/jobs/new/change/", {**FORM, "find_agent": "walker"}, headers=headers))
    assert re.findall(r"add-agent (walker-\w)", found) == ["walker-c", "walker-a"], "one's own come first"
    assert values(press(as_ada, "add-agent walker-a"), "agent") == ["random", "walker-a"]
    assert values(press(as_ada, "remove-agent random", agent=["random", "walker-a"]), "agent") == ["walker-a"]


def test_what_an_agent_cannot_play_is_said_before_and_left_out(as_ada: Client) -> None:
    page = press(as_ada, "add-agent expert", env_id=[GROUP, GCD], htmx=True)
    assert values(page, "cell") == [f"random {GROUP}", f"expert {GROUP}", f"random {GCD}"]
    assert "no expert" in page
    assert "Choose another agent" not in page
    (document,) = re.findall(r'data-copy="([^"]*)"', page)
    assert json.loads(unescape(document))["without"] == [["expert", GCD]]


def test_boxes_leave_environments_out_and_groups_open(as_ada: Client) -> None:
    agents = {"agent": ["random", "expert"], "column": ["random", "expert"]}
    table = {**agents, "env_id": [GROUP], "row": [GROUP], "cell": [f"random {GROUP}", f"expert {GROUP}"]}
    opened = press(as_ada, f"open {GROUP}", htmx=True, **table)
    ids = selection.matching(GROUP)
    assert values(opened, "row") == ids
    assert len(values(opened, "cell")) == 2 * len(ids)
    closed = press(as_ada, f"close {GROUP}", htmx=True, **table, opened=[GROUP])
    assert values(closed, "row") == [GROUP]
    cells = [f"random {env_id}" for env_id in ids] + [f"expert {env_id}" for env_id in ids[1:]]
    as_ada.post("/jobs/new/", {**FORM, **agents, "env_id": [GROUP], "row": ids, "cell": cells})
    played = {job.agent.slug: job.spec["env_ids"] for job in Job.objects.select_related("agent")}
    assert played == {"random": ids, "expert": ids[1:]}


def test_several_agents_are_one_submission(as_ada: Client) -> None:
    form = {
        **FORM,
        "agent": ["random", "expert"],
        "name": "both",
        "tags": "a b, c,,",
        "notes": "why\nnot",
        "priority": "low",
    }
    first = as_ada.post("/jobs/new/", {**form, "idempotency_key": "k"})
    again = as_ada.post("/jobs/new/", {**form, "idempotency_key": "k"})
    jobs = list(Job.objects.order_by("created"))
    assert [job.agent.slug for job in jobs] == ["random", "expert"]
    assert first["Location"] == again["Location"] == f"/jobs/?group={jobs[0].group}"
    for job in jobs:
        assert (job.group, job.name, job.tags, job.notes, job.priority) == (
            jobs[0].group,
            "both",
            ["a b", "c"],
            "why\nnot",
            -1,
        )
    listed = tight(as_ada.get(first["Location"]))
    assert all(job.get_absolute_url() in listed for job in jobs)
    page = tight(as_ada.get(jobs[0].get_absolute_url()))
    assert "?tag=a%20b" in page
    assert "low priority" in page
    assert "<p>why<br>not</p>" in page


def test_all_jobs_are_submitted_or_none(as_ada: Client, settings: Settings) -> None:
    settings.JOBS_QUEUED_PER_USER = 2
    as_ada.post("/jobs/new/", FORM)
    refused = as_ada.post("/jobs/new/", {**FORM, "agent": ["random", "expert"]})
    assert refused.status_code == 422
    assert "These are 2 jobs, and only 2 jobs of one person may be queued" in refused.content.decode()
    assert "None of them was submitted." in refused.content.decode()
    assert Job.objects.count() == 1


def test_every_wrong_field_is_named_at_its_field(as_ada: Client) -> None:
    wrong = {"seed": "x", "repeats": "99", "tool": ["hammer"], "tags": ",".join("abcdefghijklm"), "wrapper": ["cape"]}
    answer = as_ada.post(
        "/jobs/new/", {**FORM, **wrong, "env_id": ["duel:TicTacToe-v0"], "retries": "-1", "priority": "x"}
    )
    assert answer.status_code == 422
    found = set(answer.context["form"].errors)
    assert found == {"seed", "repeats", "tool", "tags", "wrapper", "opponent", "retries", "priority"}
    nobody = as_ada.post("/jobs/new/", {**FORM, "agent": ["random", "nobody"], "seed": "x", "opponent": "nemo"})
    assert set(nobody.context["form"].errors) == {"agent", "seed", "opponent"}
    assert "There is no agent &#x27;nobody&#x27; that you can evaluate." in nobody.content.decode()


# ---------------------------------------------------------------- the same as JSON


FULL: dict[str, Any] = {
    "agents": ["random", "expert"], "env_ids": [GROUP, GCD], "episodes_per_env": 3, "seed": 5, "repeats": 2,
    "num_envs": 4, "max_turns": 9, "token_budget": 1000, "turn_budget": 500,
    "max_episode_money": 0.25, "money_budget": 2.5, "tools": ["search:wikigame"], "max_tool_uses": 3,
    "backend": "threads", "wrappers": [{"name": "concat", "max_history_length": 4}], "retries": 1, "notes": "n",
    "count_as_failed": ["unanswered"], "without": [["expert", GCD]], "name": "full", "tags": ["t", "u"],
    "priority": "high", "visibility": "private",
}  # fmt: skip


def copied(page: str) -> dict[str, Any]:
    """The document that "Copy as JSON" copies."""
    (document,) = re.findall(r'data-copy="([^"]*)" data-copied', page)
    return dict(json.loads(unescape(document)))


def test_what_is_pasted_fills_the_form_and_is_what_the_form_copies(as_ada: Client) -> None:
    page = as_ada.post("/jobs/new/paste/", {**FORM, "paste": json.dumps(FULL), "idempotency_key": "k"})
    assert page.status_code == 200
    assert copied(tight(page)) == FULL
    assert values(tight(page), "idempotency_key") == ["k"]
    ranked = as_ada.post("/jobs/new/paste/", {"paste": '{"spec": {"agent": "random", "benchmark": "games"}}'})
    assert copied(tight(ranked)) == {"agent": "random", "benchmark": "games", "visibility": "public"}
    assert not Job.objects.exists()


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("{", ["This is not JSON"]),
        ("[1]", ["A specification is a JSON object"]),
        ("[" * 5000, ["This is not JSON"]),
        ('{"agent": "random", "env_ids": ["rg:gcd"], "seed": -1, "colour": 1, "retries": 99}',
         ["The seed must be from 0", "There is no setting colour.", "The number of retries must be from 0 to 10"]),
        ('{"agent": 7, "env_ids": {}, "tags": 3, "without": 1, "wrappers": [1], "name": null}',
         ["No environment is registered as"]),
        ('{"agent": ["random"], "env_ids": ["chess:*"], "repeats": "two"}', ["No environment matches"]),
    ],
)  # fmt: skip
def test_a_document_with_mistakes_is_shown_with_all_of_them(as_ada: Client, text: str, sentences: list[str]) -> None:
    answer = as_ada.post("/jobs/new/paste/", {**FORM, "paste": text})
    page = unescape(answer.content.decode())
    assert answer.status_code == 422
    for sentence in sentences:
        assert sentence in page
    assert not Job.objects.exists()


def test_the_estimate_and_the_document_follow_the_entries(as_ada: Client) -> None:
    fragment = tight(as_ada.post("/jobs/new/estimate/", {**FORM, "agent": ["random", "expert"]}))
    assert "Together, 2 jobs with 4 episodes" in fragment
    assert copied(fragment)["agents"] == ["random", "expert"]
    wrong = tight(as_ada.post("/jobs/new/estimate/", {**FORM, "seed": "x"}))
    assert "It appears here once the form is complete." in wrong


def test_what_is_still_to_be_chosen_is_no_mistake(as_ada: Client) -> None:
    own_choice = {**FORM, "benchmark": "", "env_id": []}
    for entries, sentence in (
        (own_choice, "Choose at least one environment, or a benchmark."),
        ({**FORM, "agent": []}, "Choose an agent"),
    ):
        waits = tight(as_ada.post("/jobs/new/estimate/", entries))
        assert sentence in waits
        assert 'class="error"' not in waits
        assert "to correct" not in waits
    wrong = tight(as_ada.post("/jobs/new/estimate/", {**own_choice, "seed": "x"}))
    assert wrong.count('class="error"') == 2
    submitted = tight(as_ada.post("/jobs/new/", own_choice))
    assert 'id="env-error"' in submitted
