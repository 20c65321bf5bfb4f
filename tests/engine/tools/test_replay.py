"""Episodes with tools are replayed from their record: nothing outside is asked again."""

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.errors import InvalidArgument, VersionChanged
from gem.records import EpisodeRecord, Identity, TurnRecord, episode_files
from gem.replay import frames, is_taped, restore, verify, verify_stored
from gem.rollout import EpisodeRequest, rollout
from gem.tools import ToolEnvWrapper, register_tool
from gem.tools.kinds import TOOLS
from gem.tools.prompts import NOT_RECORDED
from gem.wrappers import RecordEpisodes, describe, wrap
from tests.engine.tools.own import Counter, Mirror, OfGem, WordCount
from tests.engine.tools.script import Script

GUESS = "game:GuessTheNumber-v0-easy"
ACTIONS = ["<counter>first</counter>", "\\boxed{1}", "<mirror>abc</mirror> <counter>no</counter>", "ping", "\\boxed{x}"]
TOOLS_HERE = [{"name": "counter"}, {"name": "mirror"}, {"name": "of_gem"}]
WRAPPERS = [{"name": "tools", "tools": TOOLS_HERE, "tool_success_reward": 0.5}]


class OfGemNamed(OfGem):
    name = "of_gem"


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    own = {"counter": Counter, "mirror": Mirror, "of_gem": OfGemNamed}
    for name, tool in own.items():
        register_tool(name, tool)
    yield
    for name in own:
        del TOOLS[name]


def played(wrappers: list[dict[str, Any]] = WRAPPERS) -> EpisodeRecord:
    [record] = rollout(Script(*ACTIONS), [EpisodeRequest(0, GUESS, seed=7, wrappers=wrappers)])
    return record


def asked() -> tuple[int, int, int]:
    return Counter.asked, Mirror.asked, OfGem.asked


def test_the_record_of_an_episode_is_verified_without_asking_what_may_answer_differently() -> None:
    record = played()
    assert [len(turn.info.get("tool_calls", ())) for turn in record.turns] == [1, 0, 1, 1, 0]
    before = asked()
    assert verify(record.identity, record.turns, first_observation=record.first_observation) is None
    assert asked() == (before[0], before[1] + 1, before[2])  # the repeatable one is asked again


def test_pictures_of_an_episode_ask_no_tool_at_all() -> None:
    record = played()
    before = asked()
    shown = list(frames(record.identity, [turn.action for turn in record.turns], record.infos))
    assert [frame.observation for frame in shown[1:]] == [turn.observation for turn in record.turns]
    assert [frame.reward for frame in shown[1:]] == [turn.reward for turn in record.turns]
    assert asked() == before


def test_an_episode_goes_on_from_its_record() -> None:
    record = played()
    before = asked()
    env = restore(record.identity, ACTIONS[:3], record.infos)
    assert asked() == before
    assert env.get_state()["wrapper"]["tool_success_counter"] == 2
    assert "later" in env.step("<counter>later</counter>")[0]
    assert Counter.asked == before[0] + 1


def test_what_is_not_in_the_record_is_not_asked_for() -> None:
    record = played()
    before = asked()
    shown = list(frames(record.identity, ACTIONS[:3]))
    assert NOT_RECORDED in shown[1].observation
    assert asked() == before


@pytest.mark.parametrize(
    ("field", "value"), [("output", "forged"), ("function", "mirror"), ("arguments", {"text": "else"}), ("error", True)]
)
def test_a_changed_record_is_found_out(field: str, value: object) -> None:
    record = played()
    forged = json.loads(json.dumps(record.turns[0].info))
    forged["tool_calls"][0][field] = value
    turns = [dataclasses.replace(record.turns[0], info=forged), *record.turns[1:]]
    difference = verify(record.identity, turns)
    assert difference is not None
    assert difference.turn == 1


def test_a_forged_answer_to_a_call_that_cannot_be_read_is_found_out() -> None:
    wrappers = [{"name": "tools", "tools": ["counter"], "format": "native"}]
    [record] = rollout(Script("<tool_call>{</tool_call>", "end"), [EpisodeRequest(0, GUESS, seed=7, wrappers=wrappers)])
    assert verify(record.identity, record.turns) is None
    turn = record.turns[0]
    info = json.loads(json.dumps(turn.info).replace("not JSON", "right"))
    forged = TurnRecord(turn.action, turn.observation.replace("not JSON", "right"), turn.reward, info, turn.seat)
    assert verify(record.identity, [forged, *record.turns[1:]]) is not None


def test_a_forged_output_of_a_repeatable_tool_is_found_out() -> None:
    record = played()
    info = json.loads(json.dumps(record.turns[2].info).replace("cba", "abc"))
    turn = record.turns[2]
    forged = TurnRecord(turn.action, turn.observation.replace("cba", "abc"), turn.reward, info, turn.seat)
    difference = verify(record.identity, [*record.turns[:2], forged, *record.turns[3:]])
    assert difference is not None
    assert (difference.turn, difference.field) == (3, "observation")


@pytest.mark.parametrize(
    "garbage", [None, "text", 7, [], [None, 3], [{}], [{"function": 3}], [{"arguments": [], "details": 1}]]
)
def test_a_record_that_holds_anything_else_raises_nothing(garbage: object) -> None:
    record = played()
    turns = [dataclasses.replace(turn, info={**turn.info, "tool_calls": garbage}) for turn in record.turns]
    difference = verify(record.identity, turns)
    assert difference is not None
    assert difference.turn == 1


def test_other_data_than_the_records_cannot_be_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    record = played()
    changed = json.loads(json.dumps(record.turns[2].info))
    changed["tool_calls"][0]["details"] = {"index": "another"}
    turns = [*record.turns[:2], dataclasses.replace(record.turns[2], info=changed), *record.turns[3:]]
    with pytest.raises(VersionChanged, match="other data"):
        verify(record.identity, turns)


def test_instructions_from_outside_are_in_the_record() -> None:
    class Changing(Counter):
        has_external_instructions = True

        def instruction_string(self) -> str:
            return f"Version {Counter.asked}"

    TOOLS["counter"] = Changing
    record = played([{"name": "tools", "tools": ["counter"]}])
    Counter.asked += 1
    told = record.first_info["tool_instructions"]
    assert told in record.first_observation
    first = next(frames(record.identity, [], record.infos))
    assert first.observation == record.first_observation
    found = verify(record.identity, record.turns, first_observation=record.first_observation, first_info={})
    assert found is not None
    assert NOT_RECORDED in next(frames(record.identity, [])).observation  # and nobody outside was asked


def test_a_file_of_episodes_with_tools_is_replayed(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    env = RecordEpisodes(wrap(gem.make(GUESS), WRAPPERS), path)
    env.reset(seed=7)
    for action in ACTIONS:
        env.step(action)
    before = Counter.asked
    [stored] = episode_files.read(path)
    assert verify_stored(stored) is None
    assert Counter.asked == before
    assert stored.record.identity.wrappers == describe(env.env)


def test_tools_given_to_make_are_part_of_what_an_episode_follows_from(tmp_path: Path) -> None:
    path = tmp_path / "episodes.jsonl"
    env = RecordEpisodes(gem.make(GUESS, tools=[Counter(), "mirror"], max_tool_uses=3), path)
    env.reset(seed=7)
    for action in ("<counter>a</counter>", "\\boxed{x}"):
        env.step(action)
    [stored] = episode_files.read(path)
    assert stored.record.identity.env_kwargs == {"tools": [{"name": "counter"}, {"name": "mirror"}], "max_tool_uses": 3}
    assert stored.record.identity.wrappers == []
    assert verify_stored(stored) is None


def test_a_tool_without_a_name_cannot_be_recorded(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="no plain data"):
        RecordEpisodes(ToolEnvWrapper(gem.make(GUESS), [WordCount()]), tmp_path / "episodes.jsonl")


def test_only_episodes_with_something_from_outside_need_their_infos() -> None:
    assert not is_taped(Identity(GUESS, 1, 7))
    assert is_taped(Identity(GUESS, 1, 7, wrappers=[{"name": "python_tool"}]))
    assert is_taped(Identity(GUESS, 1, 7, env_kwargs={"tools": ["python"]}))
