"""Tools by short names: what there is here, what they become in a record, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from gem import factory, replay
from gem.agents import make_agent
from gem.errors import InvalidArgument
from gem.evaluation.spec import EvaluationSpec
from gem.records import Identity
from gem.rollout import EpisodeRequest, rollout
from gem.sandbox import levels
from gem.tools import tool_catalog
from gem.tools.kinds import TOOLS
from tests.engine.tools.own import WordCount

GUESS = "game:GuessTheNumber-v0-easy"


def found(name: str) -> tool_catalog.Offer:
    return next(one for one in tool_catalog.offers(wait=True) if one.name == name)


@pytest.fixture
def servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two MCP servers that nobody starts."""
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"time": {"command": "a"}, "docs": {"url": "http://127.0.0.1:9/mcp"}}}))
    monkeypatch.setenv("GEM_MCP_SERVERS", str(file))


def test_what_is_not_here_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GEM_MCP_SERVERS", raising=False)
    assert "GEM_MCP_SERVERS names a file" in found("mcp").obstacle
    monkeypatch.setattr(levels, "_choice", levels.LevelChoice("disabled", (), "This machine cannot confine code."))
    assert found("python").obstacle == "This machine cannot confine code."
    with pytest.raises(InvalidArgument, match=r"python cannot be used here\. This machine cannot confine"):
        tool_catalog.check_usable(["python"])


def test_every_index_and_every_server_is_a_tool_of_its_own(
    servers: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEM_INDEXES", str(tmp_path))
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "manifest.json").write_text("{}")
    names = [one.name for one in tool_catalog.offers(wait=True)]
    assert {"search:wikigame", "search:wiki", "mcp:time", "mcp:docs"} < set(names)
    assert "mcp" not in names


def test_a_tool_of_ones_own_is_offered_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TOOLS, "count", WordCount)
    assert not found("count").obstacle
    assert tool_catalog.wrapper(["count"])["tools"] == [{"name": "count"}]


@pytest.mark.parametrize(
    ("names", "tools"),
    [
        (["python"], [{"name": "python"}]),
        (["search:wikigame", "python"], [{"name": "search", "index": "wikigame"}, {"name": "python"}]),
        (["search"], [{"name": "search"}]),
        (["mcp:time", "python", "mcp:docs"], [{"name": "python"}, {"name": "mcp", "servers": ["time", "docs"]}]),
    ],
)
def test_names_become_a_wrapper_and_come_back(names: list[str], tools: list[dict[str, Any]]) -> None:
    made = tool_catalog.wrapper(names, 7, "native")
    assert made == {"name": "tools", "tools": tools, "max_tool_uses": 7, "format": "native"}
    assert set(tool_catalog.names_of(made)) == set(names)
    fields = tool_catalog.as_fields(made)
    assert ("max_tool_uses", "7") in fields
    assert ("tool_format", "native") in fields


def test_a_wrapper_with_other_settings_has_no_short_names() -> None:
    assert tool_catalog.names_of({"name": "tools", "tools": [{"name": "python", "timeout": 30}]}) == []
    assert tool_catalog.as_fields({"name": "python_tool"}) == []
    for odd in (None, 7, "python", [7], [None], [{"name": 7}], [{"name": "mcp", "servers": "time"}]):
        assert tool_catalog.names_of({"name": "tools", "tools": odd}) == []
    assert tool_catalog.names_of({"name": "tools", "tools": ["python"]}) == ["python"]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"tools": ["pyton"]}, "There is no tool 'pyton'. Did you mean python?"),
        ({"tools": ["mcp"]}, "Name the MCP server"),
        ({"tools": ["search:../secrets"]}, "The name of an index"),
        ({"tools": ["python:3"]}, "There is no tool 'python:3'"),
        ({"tools": ["python", "python"]}, "each once"),
        ({"tools": ["search", "search:wikigame"]}, "choose one index"),
        ({"tools": ["python"], "max_tool_uses": 0}, "1 to 100 times in an episode, not 0"),
        ({"tools": ["python"], "max_tool_uses": 101}, "not 101"),
        ({"tools": ["python"], "env_ids": ["math:GSM8K-python"]}, "has tools of its own (python)"),
        ({"tools": ["python"], "env_ids": ["duel:TicTacToe-v0"], "opponent": "random"}, "has several seats"),
    ],
)
def test_a_specification_refuses_what_cannot_be(asked: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError) as refused:
        EvaluationSpec.model_validate({"agent": "random", "env_ids": [GUESS], **asked})
    assert sentence in refused.value.errors()[0]["msg"]


def test_uses_of_tools_are_on_top_of_the_turn_limit() -> None:
    spec = EvaluationSpec(agent="random", env_ids=(GUESS,), max_turns=2, tools=("search:wikigame",), max_tool_uses=3)
    env = factory.make_wrapped(GUESS, {}, spec.all_wrappers)
    assert env.max_turns == 5
    env.reset(seed=1)
    for _ in range(3):
        assert env.step("<search>tea</search>")[4]["use_tool"] is True
    wrong = "\\boxed{1}" if env.unwrapped.get_state()["secret"] != 1 else "\\boxed{2}"
    assert env.step(wrong)[3] is False
    assert env.step(wrong)[3] is True


def test_episodes_with_tools_are_recorded_with_them_and_replay() -> None:
    pytest.importorskip("bm25s")
    wrappers = [tool_catalog.wrapper(["search:wikigame"], 2)]
    env = factory.make_wrapped(GUESS, {}, wrappers)
    _, info = env.reset(seed=5)
    actions = ["<search>tea</search>", "\\boxed{4}"]
    infos = [info, *(env.step(action)[4] for action in actions)]
    identity = Identity(GUESS, 1, 5, {}, "", wrappers)
    frames = list(replay.frames(identity, actions, infos))
    assert [frame.info["use_tool"] for frame in frames] == [False, True, False]
    assert frames[1].info["tool_calls"][0]["function"] == "search"


def test_agents_that_ask_for_no_tool_play_as_without() -> None:
    bare = list(rollout(make_agent("random"), [EpisodeRequest(0, GUESS, 3)]))
    wrappers = [tool_catalog.wrapper(["search:wikigame"])]
    with_tools = list(rollout(make_agent("random"), [EpisodeRequest(0, GUESS, 3, {}, wrappers)]))
    assert [turn.action for turn in bare[0].turns] == [turn.action for turn in with_tools[0].turns]
    assert bare[0].max_turns + 10 == with_tools[0].max_turns


def test_the_same_choice_reads_the_same() -> None:
    assert tool_catalog.in_words([], 10, "tags") == ""
    assert tool_catalog.in_words(["search:wiki", "python"], 5, "tags") == "python, search:wiki, 5 uses"
    assert tool_catalog.in_words(["python"], 1, "native") == "python, 1 use, function calls"
