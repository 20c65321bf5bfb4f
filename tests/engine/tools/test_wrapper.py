"""Tools around an environment: who answers a turn, what it earns, what it leaves behind."""

import json

import pytest

import gem
from gem.errors import EpisodeOver, InvalidArgument
from gem.tools import ToolEnvWrapper
from gem.tools.prompts import LAST_USE
from tests.engine.tools.own import Add, Bomb, Clock, Flood, OfGem, Power, Root, Scale, WordCount, info_of

GUESS = "game:GuessTheNumber-v0-easy"


def tooled(*tools: gem.tools.BaseTool, **more: object) -> ToolEnvWrapper:
    env = ToolEnvWrapper(gem.make(GUESS), list(tools) or [WordCount()], **more)  # type: ignore[arg-type]
    env.reset(seed=7)
    return env


def test_a_tool_answers_and_the_environment_does_not_see_the_turn() -> None:
    env = tooled()
    before = env.env.get_state()
    observation, reward, terminated, truncated, info = env.step("I count. <count>one two three</count> And then?")
    assert "3" in observation
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["parsed_action"] == "I count. <count>one two three</count>"
    assert (info["tool_type"], info["use_tool"]) == ("count", True)
    assert env.env.get_state() == before


def test_other_actions_are_the_environments_and_are_not_said_to_be_a_tools() -> None:
    env, bare = tooled(), gem.make(GUESS)
    bare.reset(seed=7)
    theirs, ours = bare.step("\\boxed{5}"), env.step("\\boxed{5}")
    assert ours[:4] == theirs[:4]
    assert info_of(ours)["use_tool"] is False
    assert {key: ours[4][key] for key in theirs[4]} == theirs[4]


def test_the_call_is_recorded_with_what_went_in_and_what_came_out() -> None:
    env = tooled(Scale())
    [call] = info_of(env.step("<scale>wool</scale>"))["tool_calls"]
    assert call.pop("seconds") >= 0
    assert call == {
        "tool": "scale",
        "function": "scale",
        "arguments": {"what": "wool"},
        "output": "wool: 10 g",
        "error": False,
    }


def test_the_instructions_name_every_tool_and_the_limit() -> None:
    env = ToolEnvWrapper(gem.make(GUESS), [WordCount(), Scale()], max_tool_uses=2)
    observation, info = env.reset(seed=7)
    assert observation.startswith(gem.make(GUESS).reset(seed=7)[0])
    for part in ("<count>", "Counts the words of a text.", "<scale>", "Weighs something.", "2 times"):
        assert part in observation
    assert "for people" not in observation
    assert (info["tool_use_counter"], info["tool_uses_left"], info["use_tool"]) == (0, 2, False)


def test_the_question_of_the_environment_stays_to_be_read_after_a_tool() -> None:
    env = ToolEnvWrapper(gem.make(GUESS), [WordCount()])
    _, info = env.reset(seed=7)
    assert info_of(env.step("<count>a</count>"))["suffix"] == info["suffix"]


def test_rewards_are_paid_for_asking_and_for_success() -> None:
    env = tooled(Scale(), tool_reward=0.05, tool_success_reward=0.25)
    assert env.step("<scale>wool</scale>")[1] == pytest.approx(0.3)
    observation, reward, *_, info = env.step("<scale>smoke</scale>")
    assert reward == pytest.approx(0.05)
    assert "Smoke cannot be weighed." in observation
    assert (info["tool_use_counter"], info["tool_success_counter"]) == (2, 1)


def test_the_counters_of_the_episode_before_come_with_the_reset() -> None:
    env = tooled()
    env.step("<count>a</count>")
    info = env.reset(seed=8)[1]
    assert (info["prev_ep_tool_use_counter"], info["prev_ep_tool_success_counter"]) == (1, 1)
    assert info["tool_use_counter"] == 0


def test_a_used_up_budget_is_said_and_leaves_every_action_to_the_environment() -> None:
    env = tooled(max_tool_uses=2)
    assert LAST_USE not in env.step("<count>a</count>")[0]
    observation, *_, info = env.step("<count>a b</count>")
    assert LAST_USE in observation
    assert info["tool_uses_left"] == 0
    assert not env.asks_for_tool("<count>a</count>")
    *_, info = env.step("<count>not boxed</count>")
    assert (info["error"], info["use_tool"]) == ("format", False)


@pytest.mark.parametrize("limit", [None, -1])
def test_without_a_limit_tools_may_be_used_for_ever(limit: int | None) -> None:
    env = tooled(max_tool_uses=limit)
    for _ in range(30):
        *_, info = env.step("<count>a</count>")
    assert info["tool_use_counter"] == 30
    assert "tool_uses_left" not in info
    assert env.max_turns == 0


def test_turns_of_tools_come_on_top_of_the_environments_own() -> None:
    env = tooled(max_tool_uses=3)
    assert env.max_turns == env.env.max_turns + 3
    for guess in ("9", "9", "9", "9"):
        env.step("<count>a</count>") if env.tool_uses_left else None
        *_, truncated, info = env.step(f"\\boxed{{{guess}}}")
    assert truncated
    assert info["success"] is False


@pytest.mark.parametrize("action", ["<bomb>x</bomb>", "crash"])
def test_a_tool_that_breaks_says_so_and_the_episode_goes_on(action: str) -> None:
    env = tooled(Bomb(), OfGem())
    observation, reward, terminated, truncated, info = env.step(action)
    assert "broke" in observation
    assert (reward, terminated, truncated) == (0.0, False, False)
    assert info["tool_calls"][0]["error"] is True
    assert info["tool_success_counter"] == 0
    assert env.step("\\boxed{5}")[4]["use_tool"] is False


def test_a_huge_output_is_cut_and_says_how_much_is_missing() -> None:
    env = tooled(Flood(), max_output=1000)
    observation, *_, info = env.step("<flood>abc</flood>")
    output = info["tool_calls"][0]["output"]
    assert output.startswith("abcabc")
    assert output.endswith("[29,001 more characters]")
    assert output in observation
    json.dumps(info).encode()


def test_half_a_character_cannot_leave_a_tool() -> None:
    env = tooled(Flood(), max_output=100_000)
    observation = env.step("<flood>a</flood>")[0]
    assert "?" in observation
    observation.encode()


def test_the_earliest_call_counts_whatever_the_order_of_the_tools() -> None:
    env = tooled(Scale(), WordCount())
    *_, info = env.step("<count>a b</count> <scale>wool</scale>")
    assert [call["tool"] for call in info["tool_calls"]] == ["count"]
    assert info["parsed_action"] == "<count>a b</count>"


def test_an_unfinished_call_is_no_call() -> None:
    *_, info = tooled().step("<count>a b \\boxed{5}")
    assert info["use_tool"] is False


def test_a_tool_with_gems_interface_only_works_as_it_is() -> None:
    env = tooled(OfGem(), WordCount())
    observation, *_, info = env.step("I ping you")
    assert observation == "pong"
    assert (info["tool_type"], info["parsed_action"]) == ("of_gem", "I ping")
    assert env.step("<count>a</count>")[4]["tool_type"] == "count"
    assert env.step("\\boxed{5}")[4]["use_tool"] is False


def test_nothing_is_answered_outside_an_episode() -> None:
    env = ToolEnvWrapper(gem.make(GUESS), [WordCount()])
    with pytest.raises(EpisodeOver):
        env.step("<count>a</count>")
    env.reset(seed=7)
    env.step("no action")
    with pytest.raises(EpisodeOver):
        env.step("<count>a</count>")


def test_a_state_holds_what_is_left_of_the_budget() -> None:
    env = tooled(max_tool_uses=2)
    env.step("<count>a</count>")
    state = json.loads(json.dumps(env.get_state()))
    other = ToolEnvWrapper(gem.make(GUESS), [WordCount()], max_tool_uses=2)
    other.set_state(state)
    assert other.get_state() == env.get_state()
    assert LAST_USE in other.step("<count>a</count>")[0]
    assert other.step("\\boxed{5}")[:3] == env.step("\\boxed{5}")[:3]


def test_it_spawns_with_the_same_tools_and_the_same_place() -> None:
    env = tooled(Scale(), max_tool_uses=3)
    env.step("<scale>wool</scale>")
    other = env.spawn(same_state=True)
    assert other.get_state() == env.get_state()
    assert other.max_tool_uses == 3
    assert "wool" in other.step("<scale>wool</scale>")[0]


def test_the_view_counts_the_uses() -> None:
    env = tooled(max_tool_uses=4)
    env.step("<count>a</count>")
    assert ("Tool uses", "1 of 4") in env.view()["facts"]


@pytest.mark.parametrize(
    ("tools", "more", "said"),
    [
        ([], {}, "at least one tool"),
        ([WordCount(), WordCount()], {}, "each once"),
        ([WordCount()], {"format": "xml"}, "'tags' or 'native'"),
        ([OfGem()], {"format": "native"}, "GEM's interface only"),
        ([WordCount()], {"max_tool_uses": -2}, "max_tool_uses"),
        ([WordCount()], {"max_output": 0}, "max_output"),
        (["pyton"], {}, "Did you mean python"),
        ([{"name": "python", "timout": 3}], {}, "Did you mean timeout"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(tools: list[object], more: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidArgument, match=said):
        ToolEnvWrapper(gem.make(GUESS), tools, **more)  # type: ignore[arg-type]


def test_several_seats_need_an_opponent_first() -> None:
    with pytest.raises(InvalidArgument, match="opponent"):
        ToolEnvWrapper(gem.make("duel:TicTacToe-v0"), [WordCount()])
    env = ToolEnvWrapper(gem.make("duel:TicTacToe-v0", opponent="random"), [WordCount()])
    env.reset(seed=1)
    assert "2" in env.step("<count>a b</count>")[0]


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("<root>16</root>", "4"),
        ("<root> 16.5 </root>", "The argument 'number' of root is a whole number, not 16.5."),
        ("<root>many</root>", "The argument 'number' of root is a whole number, not 'many'."),
        ('<power>{"base": 1.5, "exponent": 2}</power>', "2.25"),
        ('<power>{"base": 1.5}</power>', "power needs the argument 'exponent'."),
        ("<power>3</power>", 'power takes its arguments as a JSON object: {"base": ..., "exponent": ...}'),
        ("<clock></clock>", "noon"),
        ("<count>1 2</count>", "2"),
        ('<count>{"text": "a"}</count>', "2"),
        ("<add>3</add>", "4"),
        ('<add>{"a": 1, "b": 2}</add>', "3"),
        ('<add>{"b": 2}</add>', "add needs the argument 'a'."),
        ('<add>{"a": 1, "c": 2}</add>', "add has no argument 'c'; it takes a and b."),
        ("<scale>a pear</scale>", "a pear: 10 g"),
        ('<scale>{"what": "a pear", "unit": "kg"}</scale>', "a pear: 10 kg"),
        ('<scale>{"pear": 2}</scale>', '{"pear": 2}: 10 g'),
        ("<scale>{}</scale>", "{}: 10 g"),
        ("<scale>12</scale>", "12: 10 g"),
    ],
)
def test_by_tags_any_argument_can_be_given(action: str, said: str) -> None:
    env = ToolEnvWrapper(gem.make(GUESS), [Root(), Power(), Clock(), WordCount(), Add(), Scale()])
    observation, _ = env.reset(seed=7)
    for form in (
        "write <root> number </root>; what",
        'write <power> {"base": ..., "exponent": ...} </power>; what',
        "write <clock></clock>; what",
        'write <add> a </add>, or <add> {"a": ..., "b": ...} </add>, where b is optional; what',
        '"exact": ...} </scale>, where grams and unit and exact are optional; what',
    ):
        assert form in observation
    told, *_, info = env.step(action)
    assert told == f"\n<output>\n{said}\n</output>\n"
    assert info["use_tool"]
