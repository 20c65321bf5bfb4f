"""Evaluations with tools: chosen in the form, recorded with every episode, ranked apart."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import QueryDict
from django.test import Client

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.episodes import operations as episodes
from apps.episodes.models import Episode
from apps.jobs import estimates, operations
from apps.jobs.models import Job
from apps.jobs.pages import again, set_up
from apps.leaderboard.models import Score
from apps.leaderboard.operations import record_scores
from gem import benchmarks
from gem.evaluation.spec import EvaluationSpec
from tests.apps.benchmarks import shorten
from tests.html import tight
from tests.packages import skip_without
from tests.workers.records import play_out

skip_without("bm25s")

EASY = "game:GuessTheNumber-v0-easy"
TOOL = "search:wikigame"
PLAYED = pytest.mark.django_db(transaction=True)
"""For tests that play a job out: its lease is renewed by a thread with a connection of its own."""
FORM: dict[str, Any] = {"agent": "random", "benchmark": "", "env_id": [EASY], "episodes_per_env": "6", "seed": "0"}
FORM |= {"num_envs": "8", "tool": [TOOL], "max_tool_uses": "3", "tool_format": "tags"}
RECORDED = [{"name": "tools", "tools": [{"name": "search", "index": "wikigame"}], "max_tool_uses": 3}]


def submitted(**more: Any) -> Job:
    wanted = {"agent": "random", "env_ids": (EASY,), "episodes_per_env": 6, "tools": (TOOL,), "max_tool_uses": 3}
    return operations.submit(None, EvaluationSpec.model_validate(wanted | more))


def test_the_form_offers_tools_and_says_why_others_are_not_here(
    as_ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GEM_MCP_SERVERS", raising=False)
    page = tight(as_ada.get("/jobs/new/"))
    assert f'name="tool" value="{TOOL}"' in page
    assert 'value="mcp" disabled' in page
    assert "No server is registered: GEM_MCP_SERVERS names a file with them." in page


@PLAYED
def test_what_the_form_asks_for_is_played_recorded_and_replayed(as_ada: Client) -> None:
    assert as_ada.post("/jobs/new/", FORM).status_code == 302
    job = Job.objects.get()
    assert (job.spec["tools"], job.spec["max_tool_uses"]) == ([TOOL], 3)
    assert job.title == f"random with {TOOL} on GuessTheNumber-v0-easy"
    play_out(job)
    found = list(Episode.objects.filter(batch=job.batch_id))
    assert [one.wrappers for one in found] == [RECORDED] * 6
    assert all(one.slow and episodes.verify(one) is None for one in found)
    page = as_ada.get(job.get_absolute_url()).content.decode()
    assert f"{TOOL}, 3 uses" in page
    replay = as_ada.get(found[0].get_absolute_url()).content.decode()
    assert f"</svg>{TOOL}</span>" in replay.replace("</svg> ", "</svg>")
    assert as_ada.get(f"/episodes/{found[0].id}/frames/0/").status_code == 200


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"tool": ["serch"]}, "There is no tool &#x27;serch&#x27; here."),
        ({"tool": ["mcp"]}, "The tool mcp cannot be used here. No server is registered"),
        ({"tool": ["search:" + "x" * 500]}, "not one of the available choices"),
        ({"tool": [TOOL, TOOL]}, "each once"),
        ({"tool": [TOOL], "max_tool_uses": "0"}, "at least 1"),
        ({"tool": [TOOL], "max_tool_uses": "1000"}, "at most 100 per episode"),
        ({"tool": [TOOL], "max_tool_uses": "many"}, "The number of uses is a whole number"),
        ({"tool": [TOOL], "tool_format": "sql"}, "by tags or by function calls"),
        ({"tool": [TOOL], "env_id": ["qa:HotpotQA-search"]}, "qa:HotpotQA-search has tools of its own"),
        ({"tool": [TOOL], "env_id": ["duel:TicTacToe-v0"], "opponent": "random"}, "has several seats"),
    ],
)
def test_what_cannot_be_is_explained(
    as_ada: Client, change: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("GEM_MCP_SERVERS", raising=False)
    answer = as_ada.post("/jobs/new/", FORM | change)
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not Job.objects.exists()


def test_who_logs_in_on_the_way_finds_the_tools_as_they_were(ada: User, client: Client) -> None:
    back = client.post("/jobs/new/", FORM)["Location"]
    client.force_login(ada)
    page = tight(client.get(client.get(back)["Location"] if client.get(back).status_code == 302 else back))
    assert f'value="{TOOL}" checked' in page
    assert 'name="max_tool_uses" value="3"' in page


def test_the_same_can_be_asked_again_and_run_from_a_shell(ada: User) -> None:
    job = submitted()
    filled_in = QueryDict(again(job, ada, None, priced=False))
    assert [filled_in[name] for name in ("tool", "max_tool_uses", "tool_format")] == [TOOL, "3", "tags"]
    shown = set_up(job)
    spec = EvaluationSpec.model_validate_json(shown["spec_json"])
    assert (spec.tools, spec.max_tool_uses) == ((TOOL,), 3)
    ranked = set_up(operations.submit(None, EvaluationSpec(agent="random", benchmark="games", tools=(TOOL,))))
    assert EvaluationSpec.model_validate_json(ranked["spec_json"]).tools == (TOOL,)


@PLAYED
def test_what_an_agent_took_with_tools_says_nothing_of_what_it_takes_without(ada: User) -> None:
    play_out(submitted())
    agent = Agent.objects.get(slug="random")
    assert estimates.paces(agent, [EASY], [TOOL])[EASY].episodes == 6
    assert estimates.paces(agent, [EASY], []) == {}
    assert estimates.paces(agent, [EASY])[EASY].episodes == 6


@PLAYED
def test_scores_with_tools_are_ranked_apart(ada: User, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten(monkeypatch)
    jobs = {
        tools: play_out(
            operations.submit(None, EvaluationSpec(agent="random", benchmark="games", tools=tools, max_tool_uses=3))
        )
        for tools in ((), (TOOL,), ("python", TOOL))
    }
    for job in jobs.values():
        record_scores(job.pk)
    assert set(Score.objects.values_list("tools", flat=True)) == {"", f"{TOOL}, 3 uses", f"python, {TOOL}, 3 uses"}
    without = client.get("/leaderboard/?benchmark=games").content.decode()
    assert jobs[()].pk in without
    assert jobs[(TOOL,)].pk not in without
    with_tools = client.get("/leaderboard/?benchmark=games&tools=with").content.decode()
    assert jobs[()].pk not in with_tools
    assert jobs[(TOOL,)].pk in with_tools
    assert jobs[("python", TOOL)].pk in with_tools, "another choice of tools is another row"
    assert f"python, {TOOL}, 3 uses" in with_tools
    env_id = benchmarks.load("games").env_ids[0]
    for address in ("/leaderboard/top/", f"/leaderboard/agents/?env_id={env_id}"):
        assert jobs[(TOOL,)].pk not in client.get(address).content.decode()
    detail = client.get(f"/leaderboard/row/{Score.objects.get(job=jobs[(TOOL,)], env_id='').pk}/").content.decode()
    assert jobs[()].pk not in detail
    assert "Earlier" not in detail
