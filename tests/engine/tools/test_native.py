"""Tools called as functions."""

import json

import pytest

import gem
from gem.tools import ToolEnvWrapper, make_tool, register_tool
from gem.tools.kinds import TOOLS, describe_tool
from gem.tools.prompts import NOT_RUN
from gem.tools.tool_env_wrapper import MAX_CALLS
from tests.engine.tools.own import Scale, WordCount

GUESS = "game:GuessTheNumber-v0-easy"


def native(**more: object) -> ToolEnvWrapper:
    env = ToolEnvWrapper(gem.make(GUESS), [WordCount(), Scale()], format="native", **more)  # type: ignore[arg-type]
    env.reset(seed=7)
    return env


def called(name: str, **arguments: object) -> str:
    return f"<tool_call>{json.dumps({'name': name, 'arguments': arguments})}</tool_call>"


def test_agents_are_shown_the_schema_of_every_function() -> None:
    env = ToolEnvWrapper(gem.make(GUESS), [Scale()], format="native")
    observation, _ = env.reset(seed=7)
    [schema] = env.tool_schemas
    assert schema["function"] == {
        "name": "scale",
        "description": "Weighs something.",
        "parameters": {
            "type": "object",
            "properties": {
                "what": {"type": "string", "description": "the thing"},
                "grams": {"type": "integer", "default": 10},
                "unit": {"type": "string", "enum": ["g", "kg"], "default": "g"},
                "exact": {"type": "boolean", "default": False},
            },
            "required": ["what"],
            "additionalProperties": False,
        },
    }
    assert json.dumps(schema) in observation


def test_a_call_is_answered_in_a_tool_response() -> None:
    observation, *_, info = native().step("Well. " + called("scale", what="wool", grams=3, exact=True))
    assert observation == "<tool_response>\nwool: 3 g exactly\n</tool_response>"
    assert info["tool_calls"][0]["arguments"] == {"what": "wool", "grams": 3, "exact": True}


def test_several_calls_are_all_answered_in_order_and_counted() -> None:
    action = called("count", text="a b") + "\n" + called("scale", what="wool")
    observation, *_, info = native().step(action)
    assert observation.index("2") < observation.index("wool")
    assert (info["tool_use_counter"], info["parsed_action"]) == (2, action)


def test_calls_beyond_the_budget_are_not_carried_out() -> None:
    observation, *_, info = native(max_tool_uses=1).step(called("count", text="a b") + called("count", text="a"))
    assert NOT_RUN in observation
    assert len(info["tool_calls"]) == info["tool_use_counter"] == 1


def test_one_action_cannot_hold_any_number_of_calls() -> None:
    observation, *_, info = native(max_tool_uses=None).step(called("count", text="a") * 100)
    assert len(info["tool_calls"]) == MAX_CALLS
    assert observation.count(NOT_RUN) == 100 - MAX_CALLS


@pytest.mark.parametrize(
    ("action", "said"),
    [
        (called("cont", text="a"), "no function 'cont'; there is count, scale"),
        (called("count", txt="a"), "no argument 'txt'; it takes text"),
        (called("count"), "needs the argument 'text'"),
        (called("scale", what=5), "is a text, not 5"),
        (called("scale", what="wool", grams=True), "is a whole number"),
        (called("scale", what="wool", unit="lb"), "is one of ['g', 'kg']"),
        ("<tool_call>{</tool_call>", "not JSON"),
    ],
)
def test_a_wrong_call_is_answered_in_words_and_the_episode_goes_on(action: str, said: str) -> None:
    env = native(tool_success_reward=1.0)
    observation, reward, terminated, truncated, _ = env.step(action)
    assert said in observation
    assert (reward, terminated, truncated) == (0.0, False, False)


def test_a_call_that_cannot_be_understood_is_the_agents_fault_and_earns_nothing() -> None:
    env = native(tool_reward=1.0)
    *_, info = (step := env.step("<tool_call>{</tool_call>"))
    assert (info["error"], step[1]) == ("format", 0.0)
    *_, info = (step := env.step(called("scale", what="smoke")))
    assert ("error" in info, step[1]) == (False, 1.0)


def test_tags_are_nothing_special_in_this_format() -> None:
    assert native().step("<count>a</count>")[4]["use_tool"] is False


def test_a_registered_tool_has_a_name_that_records_can_keep() -> None:
    register_tool("count", WordCount)
    try:
        env = gem.make(GUESS, tools=["count"], tool_format="native", max_tool_uses=2)
        assert env.unwrapped.env_kwargs["tools"] == [{"name": "count"}]
        env.reset(seed=7)
        assert "2" in env.step(called("count", text="a b"))[0]
        assert describe_tool(make_tool("count")) == {"name": "count"}
        register_tool("count", WordCount)  # again the same: nothing happens
        with pytest.raises(gem.errors.InvalidArgument, match="already"):
            register_tool("count", Scale)
    finally:
        del TOOLS["count"]
