"""Tool calls on the pages of episodes."""

import dataclasses
import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

import gem
from apps.episodes import branches, operations
from apps.episodes.models import Episode
from apps.episodes.restore import restore
from apps.episodes.tools.calls import tool_calls
from gem.registry import ENV_REGISTRY
from gem.tools import BaseTool, register_tool
from gem.tools.kinds import TOOLS
from tests.apps.episodes.test_operations import GUESS, begin, play
from tests.apps.play.people import Person, notice
from tests.html import tight

pytestmark = pytest.mark.django_db

WITH_TOOL = "game:GuessWithATool-v0"


class Repeat(BaseTool):
    """Says something again and again."""

    name = "repeat"
    asked = 0

    def run(self, text: str) -> str:
        Repeat.asked += 1
        word, _, times = text.rpartition(" ")
        return "\n".join(f"{word} {number}" for number in range(int(times)))


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    register_tool("repeat", Repeat)
    gem.register(WITH_TOOL, "gem.envs.games.guess_the_number:GuessTheNumber", tools=["repeat"], max_tool_uses=5)
    ENV_REGISTRY[WITH_TOOL] = dataclasses.replace(ENV_REGISTRY[WITH_TOOL], cost="fast")  # played in this process
    yield
    del ENV_REGISTRY[WITH_TOOL], TOOLS["repeat"]


@pytest.fixture
def ended() -> Episode:
    """A tool was used, then a guess, then the tool failed, then a slip ended it."""
    episode = begin(WITH_TOOL)
    play(episode, "<repeat><b>hi</b> 2</repeat>", "\\boxed{1}", "<repeat>no number</repeat>", "a slip")
    return episode


def test_a_turn_shows_what_went_into_the_tool_and_what_came_out(client: Client, ended: Episode) -> None:
    page = tight(client.get(f"/episodes/{ended.id}/turns/1/"))
    assert '<details class="tool" open>' in page
    assert "<code>repeat</code>" in page
    assert "&lt;b&gt;hi&lt;/b&gt; 2</pre>" in page
    assert "&lt;b&gt;hi&lt;/b&gt; 0\n&lt;b&gt;hi&lt;/b&gt; 1</pre>" in page
    assert "1 line in, 2 lines out" in page
    assert "<b>hi" not in page


def test_a_turn_without_tools_has_no_block(client: Client, ended: Episode) -> None:
    assert (
        'class="tool"'
        not in client.get(f"/episodes/{ended.id}/frames/0/")
        .content.decode()
        .split('data-frame="2"')[1]
        .split('data-frame="3"')[0]
    )


def test_a_failed_call_says_so(client: Client, ended: Episode) -> None:
    page = client.get(f"/episodes/{ended.id}/turns/3/").content.decode()
    assert "broke: ValueError" in page
    assert ">error</span>" in page.replace("</svg>", ">")


def test_the_history_names_the_tool(client: Client, ended: Episode) -> None:
    page = tight(client.get(ended.get_absolute_url()))
    row = page.split('<li id="t1">')[1].split("</li>")[0]
    assert "</svg>repeat</code>" in row


def test_looking_at_an_episode_asks_no_tool(client: Client, ended: Episode) -> None:
    before = Repeat.asked
    for path in ("", "turns/1/", "frames/0/"):
        assert client.get(f"/episodes/{ended.id}/{path}").status_code == 200
    answer = client.post(f"/episodes/{ended.id}/verify/", headers={"HX-Request": "true"}).content.decode()
    assert "Identical in all 4 turns." in answer
    assert Repeat.asked == before


def test_a_branch_keeps_what_the_tools_said(ended: Episode) -> None:
    before = Repeat.asked
    branch = branches.store_branch(branches.draft_fork(ended, 2), seats=[])
    assert Repeat.asked == before
    env = restore(branch)
    assert env.get_state()["wrapper"]["tool_use_counter"] == 1
    branch.state = None
    assert restore(branch).get_state() == env.get_state()
    assert Repeat.asked == before


def test_a_long_output_is_folded(client: Client) -> None:
    episode = begin(WITH_TOOL)
    play(episode, "<repeat>line 200</repeat>", "end")
    page = tight(client.get(f"/episodes/{episode.id}/turns/1/"))
    assert "180 more lines" in page
    assert "200 lines out" in page
    assert page.index("line 19") < page.index("180 more lines") < page.index("line 199")


def test_somebody_who_plays_sees_the_block_and_is_not_asked_for_a_box() -> None:
    person = Person()
    episode = person.begin(WITH_TOOL, 7)
    page = person.page(episode)
    assert "&lt;repeat&gt;" in page  # the instructions
    answer = person.send(episode, "<repeat>hi 2</repeat>")
    assert (answer.status_code, notice(answer)) == (200, "")
    assert "hi 0\nhi 1</pre>" in answer.content.decode()
    assert "hi 0\nhi 1</pre>" in person.page(episode)
    refused = person.send(episode, "no call and no box")
    assert refused.status_code == 422


def test_wrappers_of_a_job_bring_tools_as_well(client: Client) -> None:
    episode = begin(GUESS, wrappers=[{"name": "tools", "tools": ["repeat"]}])
    play(episode, "<repeat>hi 1</repeat>", "end")
    assert operations.verify(episode) is None
    assert "<code>repeat</code>" in client.get(f"/episodes/{episode.id}/turns/1/").content.decode()


def test_the_catalog_says_which_tools_there_are(client: Client) -> None:
    page = client.get(f"/environments/{WITH_TOOL}/").content.decode()
    assert "repeat</span>" in page
    assert "With recorded outputs" in page
    assert "20 turns, 5 tool uses" in page
    found = client.get("/environments/?tools=repeat").content.decode()
    assert WITH_TOOL in found
    assert GUESS not in found


@pytest.mark.parametrize(
    "calls", [None, 5, "text", {}, [5, None], [{}], [{"arguments": [1], "output": None, "seconds": "x", "details": 1}]]
)
def test_a_record_of_another_shape_is_shown_as_far_as_it_goes(calls: Any) -> None:
    json.dumps([dataclasses.asdict(one) for one in tool_calls({"tool_calls": calls})])


def test_what_cannot_be_seen_is_not_shown() -> None:
    [call] = tool_calls({"tool_calls": [{"output": "\x1b[31mred\x1b[0m \u202egnorw\u202c tab\there\nline"}]})
    assert call.output == "red gnorw tab\there\nline"
