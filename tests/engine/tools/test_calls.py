"""Calls of functions as models write them."""

import json
import time

import pytest

import gem
from gem.tools import ToolEnvWrapper
from gem.tools.calls import action_of, find_calls
from tests.engine.tools.own import WordCount

CALL = '{"name": "f", "arguments": {"x": 1}}'


@pytest.mark.parametrize(
    "action",
    [
        f"<tool_call>{CALL}</tool_call>",
        f"<think>so</think>\n<tool_call>\n{CALL}\n</tool_call>\nThen I wait.",
        f"<tool_call>{CALL}",  # the model stopped where the tag would begin
        '<tool_call>{"name": "f", "parameters": {"x": 1}}</tool_call>',
        '<tool_call>{"name": "f", "arguments": "{\\"x\\": 1}"}</tool_call>',
        '<tool_call><tool_name>f</tool_name><arguments>{"x": 1}</arguments></tool_call>',
        '<tool_call>\n<tool_name> f </tool_name>\n<arguments>\n{"x": 1}\n</arguments>\n</tool_call>',
        '{"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", '
        '"function": {"name": "f", "arguments": "{\\"x\\": 1}"}}]}',
        '[{"function": {"name": "f", "arguments": {"x": 1}}}]',
    ],
)
def test_every_usual_form_is_read(action: str) -> None:
    [call] = find_calls(action)
    assert (call.function, call.arguments, call.fault) == ("f", {"x": 1}, "")
    assert 0 < call.end <= len(action)


def test_several_calls_are_found_in_their_order() -> None:
    calls = find_calls('<tool_call>{"name": "a"}</tool_call> and <tool_call>{"name": "b"}</tool_call> end')
    assert [call.function for call in calls] == ["a", "b"]
    assert (
        calls[0].end
        < calls[1].end
        == len('<tool_call>{"name": "a"}</tool_call> and <tool_call>{"name": "b"}</tool_call>')
    )


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("<tool_call>{nonsense</tool_call>", "not JSON"),
        ("<tool_call>" + "[" * 100_000 + "</tool_call>", "not JSON"),
        ("<tool_call>[1, 2]</tool_call>", "no JSON object"),
        ('<tool_call>{"name": "f", "arguments": {"x": NaN}}</tool_call>', "NaN is no number"),
        ('<tool_call>{"name": "f", "arguments": {"x": -Infinity}}</tool_call>', "is no number"),
        ('<tool_call>{"name": "f", "arguments": {"x": 1e999}}</tool_call>', "too large"),
        ('<tool_call>{"name": "f", "arguments": {"x": ' + "9" * 5000 + "}}</tool_call>", "not JSON"),
        ('<tool_call>{"arguments": {}}</tool_call>', "no name"),
        ('<tool_call>{"name": 7}</tool_call>', "no name"),
        ('<tool_call>{"name": "f", "arguments": [1]}</tool_call>', "arguments of f"),
        ('<tool_call>{"name": "f", "arguments": "{"}</tool_call>', "arguments of f are not JSON"),
        ("<tool_call><tool_name>f</tool_name><arguments>{</arguments></tool_call>", "not JSON"),
        ('{"tool_calls": [{"function": "f"}]}', "no function"),
    ],
)
def test_what_cannot_be_understood_says_why_and_how_to_write_it(action: str, said: str) -> None:
    [call] = find_calls(action)
    assert said in call.fault
    assert "<tool_call>" in call.fault


@pytest.mark.parametrize("levels", [40, 300, 900])
def test_arguments_that_nobody_could_record_are_refused(levels: int) -> None:
    [call] = find_calls('<tool_call>{"name": "f", "arguments": {"x": ' + "[" * levels + "]" * levels + "}}</tool_call>")
    assert "too deeply" in call.fault
    [call] = find_calls('<tool_call>{"name": "f", "arguments": {"x": [[[{"y": [1]}]]]}}</tool_call>')
    assert call.fault == ""


@pytest.mark.parametrize(
    "action", ["\\boxed{5}", '{"answer": 5}', "[1, 2, 3]", "I could write <tool_call> here", "", "{" * 100_000]
)
def test_other_texts_have_no_calls(action: str) -> None:
    assert find_calls(action) == []


def test_an_openai_message_becomes_an_action_that_is_read_back() -> None:
    message = {
        "content": "Let me see.",
        "tool_calls": [
            {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"x": "ä\\n"}'}},
            {"id": "2", "type": "function", "function": {"name": 'g"', "arguments": ""}},
        ],
    }
    action = action_of(message)
    assert action.startswith("Let me see.\n<tool_call>")
    first, second = find_calls(action)
    assert (first.function, first.arguments) == ("f", {"x": "ä\n"})
    assert (second.function, second.arguments) == ('g"', {})
    assert json.dumps([first.arguments, second.arguments])


def test_a_message_without_calls_is_its_text() -> None:
    assert action_of({"content": "\\boxed{5}"}) == "\\boxed{5}"
    assert action_of({"content": None}) == ""


@pytest.mark.parametrize(
    "piece",
    [
        "<python>",
        "```python ",
        "</python><python>",
        "<tool_call>",
        "<tool_call><tool_name></tool_name><arguments>",
        "<tool_name></tool_name><arguments>",
        "</count><count>",
        "[",
        '{"a":',
    ],
)
def test_a_text_that_is_four_times_as_long_takes_four_times_as_long(piece: str) -> None:
    env = ToolEnvWrapper(gem.make("game:GuessTheNumber-v0-easy"), ["python", WordCount()])
    for opening in ("", "<tool_call>"):
        short, long = (opening + piece * (kilobytes * 1024 // len(piece)) for kilobytes in (64, 256))
        assert _spent(env, long) < 12 * max(_spent(env, short), 0.002)  # sixteen times, if it were read again and again


def _spent(env: ToolEnvWrapper, action: str) -> float:
    """Processor time in seconds to look for calls, the least of three."""
    times = []
    for _ in range(3):
        begun = time.process_time()
        env.asks_for_tool(action)
        find_calls(action)
        times.append(time.process_time() - begun)
    return min(times)
