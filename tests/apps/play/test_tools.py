"""Tools that somebody adds to an environment before playing it, or having it played."""

import json
import re
import sys
from pathlib import Path

import pytest
from pytest_django.fixtures import Settings

from apps.agents.models import Agent
from apps.episodes import operations
from apps.episodes.models import Episode, PendingTurn
from gem import replay
from gem.core import EnvWrapper
from gem.records import Identity
from tests.apps.play.people import BOX, Person, notice
from tests.engine.tools.servers import BAD_SERVER
from tests.packages import skip_without

skip_without("bm25s")

GUESS = "game:GuessTheNumber-v0-hard"
TOOL = "search:wikigame"
CHOICE = {"tool": [TOOL], "max_tool_uses": "4", "tool_format": "tags"}
RECORDED = [{"name": "tools", "tools": [{"name": "search", "index": "wikigame"}], "max_tool_uses": 4}]

pytestmark = pytest.mark.django_db


def test_the_episode_has_the_tools_and_says_how_to_use_them() -> None:
    person = Person()
    episode = person.begin(GUESS, 7, **CHOICE)
    assert episode.wrappers == RECORDED
    page = person.page(episode)
    assert "write a query between &lt;search&gt; and &lt;/search&gt;" in page
    assert "0 of 4" in page, "the board's facts count the uses"
    assert f"&amp;tool={TOOL.replace(':', '%3A')}&amp;max_tool_uses=4" in page, "a new episode begins with the same"


def test_a_turn_is_played_by_a_worker_whether_it_asks_for_the_tool_or_not() -> None:
    person = Person()
    episode = person.begin(GUESS, 7, **CHOICE)
    assert person.send(episode, "<search>tea</search>").status_code == 202
    assert PendingTurn.objects.get(episode=episode).action == "<search>tea</search>"


def played(*actions: str) -> Episode:
    """An episode with tools after these actions, stepped here as a worker steps it."""
    human = Agent.objects.get(slug="human")
    seat = operations.Occupant(human, visitor="x")
    episode = operations.begin(GUESS, seed=7, seats=[seat], wrappers=RECORDED)
    env = replay.make_env(Identity(**episode.identity()))
    env.reset(seed=7)
    for action in actions:
        operations.record_turn(episode, env, action)
    return Episode.objects.get(pk=episode.pk)


def test_every_turn_can_be_looked_at_again_forked_and_verified() -> None:
    episode = played("<search>tea</search>", BOX % 25, "<search>coffee</search>")
    person = Person()
    frames = person.client.get(f"/episodes/{episode.id}/frames/0/").content.decode()
    assert frames.count("<code>search</code>") == 2
    assert operations.verify(episode) is None
    for turn in range(4):
        answer = person.client.post(f"/play/{episode.id}/fork/", {"turn": turn})
        branch = Episode.objects.get(pk=answer["Location"].rstrip("/").rpartition("/")[2])
        assert (branch.wrappers, branch.turn_count) == (RECORDED, turn)
        env = replay.restore(Identity(**branch.identity()), *_record(branch))
        assert isinstance(env, EnvWrapper)
        assert env.get_state() == branch.state["env"]


def _record(episode: Episode) -> tuple[list[str], list[dict]]:
    turns = list(episode.turns.order_by("number"))
    return [turn.action for turn in turns], [episode.first_info, *(turn.info for turn in turns)]


def test_a_new_seed_after_the_end_has_the_same_tools() -> None:
    episode = played("<search>tea</search>", "nonsense")
    assert episode.over
    page = Person().client.get(episode.get_absolute_url()).content.decode()
    assert f'<input type="hidden" name="tool" value="{TOOL}">' in page
    assert '<input type="hidden" name="max_tool_uses" value="4">' in page


def test_an_agent_is_watched_with_tools() -> None:
    answer = Person().client.post("/play/watch/new/", {"env_id": GUESS, "agent": "expert", "pace": "1", **CHOICE})
    episode = Episode.objects.get(pk=answer["Location"].rstrip("/").rpartition("/")[2])
    assert (episode.wrappers, episode.show.pace) == (RECORDED, 1.0)


@pytest.mark.parametrize("address", ["/play/new/", "/play/watch/new/"])
@pytest.mark.parametrize(
    ("env_id", "sentence"),
    [("qa:HotpotQA-search", "has tools of its own"), ("duel:TicTacToe-v0", "has several seats")],
)
def test_where_there_can_be_none_it_is_said(address: str, env_id: str, sentence: str) -> None:
    asked = {"env_id": env_id, "agent": "expert", "opponent": "expert", "pace": "1", **CHOICE}
    answer = Person().client.post(address, asked)
    assert answer.status_code == 422
    assert sentence in answer.content.decode()
    assert not Episode.objects.exists()
    assert 'name="tool"' not in Person().client.get(f"{address}?env_id={env_id}").content.decode()


def test_a_server_that_is_not_there_begins_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mcp")
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"gone": {"url": "http://127.0.0.1:9/mcp"}}}))
    monkeypatch.setenv("GEM_MCP_SERVERS", str(file))
    asked = {"env_id": GUESS, "agent": "expert", "pace": "1", "tool": ["mcp:gone"]}
    for address in ("/play/new/", "/play/watch/new/"):
        answer = Person().client.post(address, asked, headers={"HX-Request": "true"})
        assert "cannot begin without its tools: The server gone cannot be used" in notice(answer)
    assert not Episode.objects.exists()


def test_a_server_that_hangs_begins_nothing_and_says_so_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    pytest.importorskip("mcp")
    settings.TOOL_SECONDS = 1.0
    command = {"command": sys.executable, "args": [str(BAD_SERVER), "silent"]}
    file = tmp_path / "servers.json"
    file.write_text(json.dumps({"mcpServers": {"silent": command}}))
    monkeypatch.setenv("GEM_MCP_SERVERS", str(file))
    asked = {"env_id": GUESS, "agent": "expert", "pace": "1", "tool": ["mcp:silent"]}
    for address in ("/play/new/", "/play/watch/new/", "/play/watch/new/"):
        answer = Person().client.post(address, asked, headers={"HX-Request": "true"})
        assert "The server silent did not start within 1 s." in notice(answer)
    assert not Episode.objects.exists()


def test_the_expert_helps_with_tools_as_without() -> None:
    person = Person()
    hints = []
    for tools in ({}, CHOICE):
        episode = person.begin(GUESS, 7, **tools)
        page = person.client.get(f"/play/{episode.id}/hint/", headers={"HX-Request": "true"}).content.decode()
        hints.append(re.findall(r"boxed\{(\d+)", page))
    assert hints[0] == hints[1] != []
