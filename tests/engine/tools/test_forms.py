"""The forms of tools: what they write is what the tools find in an action."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gem
from gem.core import Env
from gem.tools import BaseTool, ToolEnvWrapper
from gem.tools.forms import answer_form, tool_forms
from gem.views.forms import ToolForm
from gem.wrappers import wrap
from tests.engine.tools.own import Add


def written(form: ToolForm, values: dict[str, Any]) -> str:
    """The action that a page writes for these values (static/js/bench.js does the same)."""
    if form["style"] == "json":
        return form["before"] + json.dumps(values) + form["after"]
    if form["style"] == "pairs":
        return form["before"] + "".join(f" {name}={value}" for name, value in values.items()) + form["after"]
    return form["before"] + str(next(iter(values.values()), "")) + form["after"]


class Weigh(BaseTool):
    """Weighs things."""

    name = "weigh"

    def run(self, thing: str, times: int) -> str:
        return f"{thing} x {times}"


def begun(env: Env) -> list[ToolForm]:
    _, info = env.reset(seed=1)
    return tool_forms(env, info)


@pytest.mark.parametrize("form_of_calls", ["tags", "native"])
def test_what_a_form_writes_is_a_call_of_its_tool(form_of_calls: Any) -> None:
    env = ToolEnvWrapper(gem.make("game:GuessTheNumber-v0"), [Weigh()], format=form_of_calls)
    (form,) = begun(env)
    assert form["control"] == "form"
    assert [(field["name"], field["type"], field["required"]) for field in form["fields"]] == [
        ("thing", "string", True),
        ("times", "integer", True),
    ]
    env.step(written(form, {"thing": "a pear", "times": 3}))
    assert env.tool_success_counter == 1


@pytest.mark.parametrize("form_of_calls", ["tags", "native"])
def test_a_form_offers_the_optional_arguments(form_of_calls: Any) -> None:
    env = ToolEnvWrapper(gem.make("game:GuessTheNumber-v0"), [Add()], format=form_of_calls)
    (form,) = begun(env)
    assert [(field["name"], field["required"]) for field in form["fields"]] == [("a", True), ("b", False)]
    assert "42" in env.step(written(form, {"a": 40, "b": 2}))[0]


def test_python_has_an_editor_and_search_has_a_box_in_both_formats() -> None:
    for form_of_calls in ("tags", "native"):
        settings = {"name": "tools", "tools": ["python", {"name": "search", "index": "wikigame"}]}
        env = wrap(gem.make("game:GuessTheNumber-v0"), [{**settings, "format": form_of_calls}])
        code, search = begun(env)
        assert (code["control"], search["control"]) == ("code", "search")
        assert [field["name"] for field in code["fields"] + search["fields"]] == ["code", "query"]
        assert env.asks_for_tool(written(code, {"code": "print(1)"}))


def test_the_functions_of_a_server_are_those_that_the_episode_recorded() -> None:
    schema = {
        "type": "function",
        "function": {
            "name": "convert",
            "description": "Converts.",
            "parameters": {
                "type": "object",
                "properties": {
                    "unit": {"enum": ["m", "ft"]},
                    "n": {"type": "number", "minimum": 0},
                    "x": {"anyOf": []},
                },
                "required": ["unit"],
            },
        },
    }
    lines = ["no JSON", "[]", '{"function": {"name": 3}}', json.dumps(schema)]
    info = {"tool_instructions": "\n".join(["Tools:", "<tools>", *lines, "</tools>"])}
    env = wrap(gem.make("game:GuessTheNumber-v0"), [{"name": "tools", "tools": [{"name": "mcp", "servers": ["none"]}]}])
    (form,) = tool_forms(env, info)
    assert [(field["name"], field["type"]) for field in form["fields"]] == [
        ("unit", "choice"),
        ("n", "number"),
        ("x", "json"),
    ]
    assert form["fields"][0]["choices"] == ["m", "ft"]
    assert form["fields"][1]["minimum"] == 0
    assert env.asks_for_tool(written(form, {"unit": "m"}))


def test_no_form_is_left_when_the_tools_may_not_be_used_any_more() -> None:
    env = ToolEnvWrapper(gem.make("game:GuessTheNumber-v0"), [Weigh()], max_tool_uses=1)
    (form,) = begun(env)
    env.step(written(form, {"thing": "a", "times": 1}))
    assert tool_forms(env, {}) == []


def test_the_answer_to_a_problem_is_written_as_its_prompt_says() -> None:
    for env_id, action in (
        ("qa:HotpotQA-search", "<answer>Paris</answer>"),
        ("math:Drawn-v0", "\\boxed{Paris}"),
        ("rg:basic_arithmetic", "\\boxed{Paris}"),
        ("game:GuessTheNumber-v0", None),
        ("code:Taco8k", None),
    ):
        env = gem.make(env_id)
        _, info = env.reset(seed=1)
        form = answer_form(env, info)
        assert (written(form, {"answer": "Paris"}) if form else None) == action


def test_every_tool_of_the_retail_shop_has_a_form_that_the_environment_understands() -> None:
    env = gem.make("dialogue:Retail-v0-easy")
    forms = begun(env)
    assert len(forms) == 12
    for form in forms:
        values = {field["name"]: field.get("choices", ["W1234"])[0] for field in form["fields"]}
        *_, info = env.step(written(form, values))
        assert info.get("error") != "format", form["name"]
        if form["name"] != "escalate":
            assert "is written so" not in env.messages[-1][1]
    assert tool_forms(env, {}) == [], "it is over"


def test_orders_that_came_up_are_suggested() -> None:
    env = gem.make("dialogue:Retail-v0-easy")
    env.reset(seed=1)
    customer = env.unwrapped.shop["customers"][env.unwrapped._caller]
    env.step(f"\\boxed{{find_customer email={customer['email']}}}")
    form = next(form for form in tool_forms(env, {}) if form["name"] == "show_order")
    assert form["fields"][0]["suggestions"] == customer["orders"]
