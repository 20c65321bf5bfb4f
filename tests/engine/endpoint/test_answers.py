"""What counts as the action of an answer, and what as its reasoning."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gem.agents.endpoint import EndpointAgent
from gem.agents.endpoint.completion import Completion
from gem.agents.endpoint.functions import action_of
from gem.rollout import EpisodeRequest, rollout

HARD = "game:GuessTheNumber-v0-hard"


@pytest.mark.parametrize(
    ("text", "action", "reasoning"),
    [
        ("<think>So.</think>\n\n\\boxed{5}", "\\boxed{5}", "So."),
        ("So.</think>\\boxed{5}", "\\boxed{5}", "So."),
        ("<think>cut off", "", "cut off"),
        ("  <think>a</think> b <think>c</think> d", "d", "a b <think>c".replace("<think>", "")),
        ("plain", "plain", ""),
        ("I <think> it is \\boxed{5}", "I <think> it is \\boxed{5}", ""),
        ("", "", ""),
    ],
)
def test_think_blocks_are_reasoning(text: str, action: str, reasoning: str) -> None:
    completion = Completion(text=text)
    assert completion.split_reasoning() == (action, reasoning)


@pytest.mark.parametrize(
    ("model", "action", "note"),
    [
        ("thinks", "\\boxed{5}", "Five is in the middle."),
        ("thought", "\\boxed{5}", "Five, I think."),
        ("reasons", "\\boxed{5}", "The field has another name."),
        ("nul", "\\boxed{5}\u2400\ufffd", None),
        ("cut-off", "", "Where was I"),
        ("nothing", "", None),
    ],
)
@pytest.mark.parametrize("stream", [True, False])
def test_each_way_to_answer_is_understood(
    agent_of: Callable[..., EndpointAgent], model: str, action: str, note: str | None, stream: bool
) -> None:
    (record,) = rollout(agent_of(model, stream=stream), [EpisodeRequest(0, HARD, 3)])
    assert record.turns[0].action.replace("\ufffd" * 3, "\ufffd") == action
    assert record.turns[0].extra.get("note") == note
    assert (record.turns[0].extra.get("finish") == "length") is (action == "")


def test_of_an_endless_answer_the_end_counts(agent_of: Callable[..., EndpointAgent]) -> None:
    (record,) = rollout(agent_of("long"), [EpisodeRequest(0, HARD, 3)])
    assert len(record.turns[0].action.encode()) == 64 * 1024
    assert record.turns[0].action.endswith("x\\boxed{5}")
    assert record.turns[0].extra["finish"] == "too long"


def test_answers_in_parts_are_put_together() -> None:
    completion = Completion()
    completion.add({"choices": [{"message": {"content": [{"type": "text", "text": "a"}, {"type": "odd"}, "b"]}}]})
    assert completion.text == "a"


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"choices": 1},
        {"choices": ["x"]},
        {"choices": [{"message": 3}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": {"tool_calls": [3]}}]},
    ],
)
def test_what_is_no_completion_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Completion().add(data)


@pytest.mark.parametrize("counted", [{"choices": []}, {"choices": None}, {}])
@pytest.mark.parametrize("last", [{"delta": {}}, {"delta": None}])
def test_the_ends_of_streams_are_understood(last: dict[str, object], counted: dict[str, object]) -> None:
    completion = Completion()
    assert completion.add({"choices": [{"delta": {"content": "a"}}]})
    assert not completion.add({"choices": [{**last, "finish_reason": "stop"}]})
    assert not completion.add({**counted, "usage": {"prompt_tokens": 3, "completion_tokens": 1}})
    assert (completion.text, completion.finish_reason, tuple(completion.usage)) == ("a", "stop", (3, 1, 0))


def streamed(*pieces: tuple[int, str | None, str | None, str]) -> list[tuple[str, str]]:
    """The name and the arguments of each call in chunks with these indices, ids, names and parts of arguments."""
    completion = Completion()
    for index, call_id, name, arguments in pieces:
        call = {"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}
        completion.add({"choices": [{"delta": {"tool_calls": [call]}}]})
    calls = [call for _, call in sorted(completion.calls.items())]
    assert action_of(calls).count("<tool_call>") == len(calls)
    return [(call.name, call.arguments) for call in calls]


def test_calls_that_are_streamed_with_the_same_index_stay_apart() -> None:
    """Ollama gives all of them the index 0."""
    pieces = [
        (0, "a", "python", '{"code":'),
        (0, None, None, ' "1"}'),
        (0, "b", "python", '{"code": '),
        (0, "b", None, "2}"),
    ]
    assert streamed(*pieces) == [("python", '{"code": "1"}'), ("python", '{"code": 2}')]
    assert streamed((0, "a", "x", "{}"), (0, "b", "y", "{}"), (1, "c", "z", "{}")) == [
        ("x", "{}"),
        ("y", "{}"),
        ("z", "{}"),
    ]


def test_a_call_whose_parts_have_other_ids_stays_one() -> None:
    """Earlier versions of vLLM give each part of the arguments an id of its own."""
    assert streamed((0, "a", "python", "{"), (0, "b", None, "}"), (0, "c", "", "")) == [("python", "{}")]


def test_counts_that_cannot_be_are_not_believed() -> None:
    completion = Completion()
    usage = {"prompt_tokens": -1, "completion_tokens": 10**40, "completion_tokens_details": {"reasoning_tokens": "7"}}
    completion.add({"choices": [{"message": {}}], "usage": usage})
    assert tuple(completion.usage) == (0, 0, 0)
