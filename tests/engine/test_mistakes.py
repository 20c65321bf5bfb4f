"""What newcomers get wrong in calls of the engine is answered with what to write instead."""

from pathlib import Path
from typing import Any

import pytest

import gem
from gem.agents import Decision, RandomAgent
from gem.core import Env, EnvWrapper
from gem.errors import InvalidArgument
from gem.records import episode_files
from gem.registry import ENV_REGISTRY
from gem.rollout import EpisodeRequest, rollout
from gem.tools import BaseTool, register_tool
from gem.validation.arguments import check_numbers
from gem.wrappers import Opponent, RecordEpisodes, TimeLimit, wrap

WORDLE = "game:Wordle-v0"


class Shout(BaseTool):
    """Says it louder."""

    name = "shout"

    def run(self, text: str) -> str:
        return text.upper()


class Nameless(BaseTool):
    """Has no name."""

    def run(self, text: str) -> str:
        return text


class Waits(BaseTool):
    """Waits for something."""

    name = "waits"

    async def run(self, text: str) -> str:  # type: ignore[override]  # the mistake
        return text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"max_turns": "3"}, "max_turns must be a whole number, not '3'."),
        ({"max_turns": True}, "max_turns must be a whole number, not True."),
        ({"max_turns": 2.0}, "max_turns must be a whole number, not 2.0."),
        ({"max_turns": [3]}, "cannot be made with max_turns=[3]: '<' not supported"),
        ({"tools": ["python"], "max_tool_uses": 2.5}, "max_tool_uses must be a whole number, not 2.5."),
        ({"tools": "python"}, "Tools are a list: tools=['python']."),
        ({"tools": [5]}, "or an object of a class that derives from gem.tools.BaseTool, not 5."),
        ({"tools": [Shout]}, "Make one of the class: Shout()."),
        ({"tools": [Nameless()]}, "The tool Nameless has no name, between whose tags agents could call it"),
        ({"tools": [Waits()]}, "run of the tool waits is a coroutine, for which nobody waits"),
        ({"num_env": 4}, "takes no argument 'num_env'"),
    ],
)
def test_make_says_which_argument_is_wrong(arguments: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        gem.make(WORDLE, **arguments)
    assert sentence in str(refused.value)


def test_what_is_annotated_as_a_whole_number_is_one() -> None:
    for env_id, name, value in (
        ("game:GuessTheNumber-v0-easy", "max_turns", 2.5),
        ("game:TowerofHanoi-v0-easy", "num_disks", 2.5),
        ("game:Sokoban-v0-easy", "num_boxes", 2.0),
    ):
        with pytest.raises(InvalidArgument, match=rf"^{name} must be a whole number, not {value}\.$"):
            gem.make(env_id, **{name: value})
    limit: Any
    for limit in (2.5, True, "3"):
        with pytest.raises(InvalidArgument, match="max_turns must be a whole number"):
            wrap(gem.make(WORDLE), [{"name": "time_limit", "max_turns": limit}])
        with pytest.raises(InvalidArgument, match="max_turns must be a whole number"):
            TimeLimit(gem.make(WORDLE), limit)
    gem.make(WORDLE, max_turns=None)
    assert gem.make(WORDLE, max_turns=7).max_turns == 7


@pytest.mark.parametrize("annotation", ["int", "int | None", int, int | None])
def test_however_a_number_is_annotated(annotation: Any) -> None:
    def made(size: Any = 3, label: str = "", ratio: float = 0.5) -> None:
        """Made with a size."""

    made.__annotations__["size"] = annotation
    for size in (2.0, True, "2"):
        with pytest.raises(InvalidArgument, match=r"^size must be a whole number"):
            check_numbers(made, {"size": size})
    for ratio in (True, "0.5"):
        with pytest.raises(InvalidArgument, match=r"^ratio must be a number"):
            check_numbers(made, {"ratio": ratio})
    check_numbers(made, {"size": 2, "label": "2", "ratio": 2.0})
    check_numbers(made, {"size": None, "ratio": 2})


class Unhashable:
    """Makes environments, and compares by value."""

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, size: int = 3) -> Env:
        return gem.make(WORDLE, max_turns=size)


def test_what_cannot_be_hashed_is_checked_too() -> None:
    check_numbers(Unhashable(), {"size": 2})
    with pytest.raises(InvalidArgument, match="size must be a whole number"):
        check_numbers(Unhashable(), {"size": 2.0})


def test_what_is_registered_keeps_its_numbers() -> None:
    checked = 0
    for spec in list(ENV_REGISTRY.values()):
        if not spec.missing_packages():
            check_numbers(spec.load(), spec.kwargs)
            checked += 1
    assert checked > 100


def test_a_number_of_environments_is_a_list_of_ids() -> None:
    with pytest.raises(InvalidArgument, match=r"\['game:Wordle-v0'\] \* 4"):
        gem.make_vec(WORDLE, num_envs=4)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((WORDLE, 4), "['game:Wordle-v0'] * 4"),
        (([WORDLE], ["concat"]), "wrappers are functions: get_wrapper_fns(['concat'])"),
        (([WORDLE], "concat"), "wrappers are functions: get_wrapper_fns('concat')"),
        (([WORDLE] * 2, None, {"max_turns": 3}), "those of all are given by name"),
    ],
)
def test_make_vec_says_what_each_argument_is(arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        gem.make_vec(*arguments)
    assert sentence in str(refused.value)


class Says:
    """An agent that returns what it is told to."""

    name = "says"

    def __init__(self, *returned: Any) -> None:
        self.returned = list(returned)

    def act(self, requests: Any) -> Any:
        return self.returned


class Awaited(Says):
    async def decide(self, request: Any) -> Any:
        return self.returned[0]

    async def close(self) -> None:
        pass


class Unclosed:
    name = "unclosed"

    async def decide(self, request: Any) -> Any:
        return request


class ReturnsNothing:
    name = "nothing"

    def act(self, requests: Any) -> Any:
        """Forget to return the decisions."""


class ActsLater:
    name = "later"

    async def act(self, requests: Any) -> Any:
        return requests


@pytest.mark.parametrize(
    ("agent", "sentence"),
    [
        (Says("\\boxed{crane}"), "returned '\\\\boxed{crane}' where a decision belongs: gem.agents.Decision("),
        (Awaited("a"), "decide of Awaited returned 'a' where a decision belongs"),
        (Says(), "act of Says returned 0 decisions for 1 requests"),
        (Says(Decision(None)), "act of Says returned a decision whose action is None, not a text."),  # type: ignore[arg-type]
        (Awaited(Decision(5)), "decide of Awaited returned a decision whose action is 5, not a text."),  # type: ignore[arg-type]
        (ReturnsNothing(), "act of ReturnsNothing returned None where a list with one decision for each request"),
        (lambda _: "a", "is no agent: it needs act(requests)"),
        (RandomAgent, "RandomAgent is a class; an agent is an object of it: RandomAgent()."),
        (Unclosed(), "is no agent: it needs close besides decide, see gem.agents.AsyncAgent."),
        (ActsLater(), "act of ActsLater is a coroutine. An agent that waits defines async decide(request)"),
    ],
)
def test_a_rollout_says_what_is_wrong_with_an_agent(agent: Any, sentence: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        list(rollout(agent, [EpisodeRequest(0, WORDLE, seed=1)]))
    assert sentence in str(refused.value)


def test_a_request_without_a_seed_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"A seed is an integer from 0 to 2\*\*63 - 1, not None\."):
        list(rollout(RandomAgent(), [EpisodeRequest(0, WORDLE, seed=None)]))  # type: ignore[arg-type]


def test_an_opponent_that_returns_no_decision_is_named() -> None:
    env = Opponent(gem.make("duel:TicTacToe-v0"), Says("\\boxed{1}"), seat=0)
    env.reset(seed=1)
    with pytest.raises(InvalidArgument, match="act of Says returned"):
        env.step("\\boxed{5}")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"backend": "processes"}, "backend is one of sync, threads, not 'processes'."),
        ({"num_envs": "8"}, "num_envs must be a whole number and at least 1, not '8'."),
        ({"num_envs": 2.5}, "num_envs must be a whole number and at least 1, not 2.5."),
    ],
)
def test_a_rollout_says_which_option_is_wrong(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        list(rollout(RandomAgent(), [EpisodeRequest(0, WORDLE, seed=1)], **options))
    assert str(refused.value) == sentence


def test_a_list_is_no_id() -> None:
    said = "An environment is made by its id, such as 'game:Wordle-v0', not"
    with pytest.raises(InvalidArgument, match=said):
        gem.make([WORDLE])  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match=said):
        gem.make_vec([[WORDLE]])  # type: ignore[list-item]


def test_a_list_is_no_mixture() -> None:
    with pytest.raises(InvalidArgument, match=r"A mixture is an object with parts, .* not \['game:Wordle-v0'\]\.$"):
        gem.register_mixture("custom:Mix-v0", [WORDLE])  # type: ignore[arg-type]


def test_the_path_of_a_file_of_episodes_may_be_a_text(tmp_path: Path) -> None:
    with RecordEpisodes(gem.make("game:GuessTheNumber-v0-easy"), tmp_path / "a.jsonl") as env:
        env.reset(seed=1)
        env.step("no number, which ends it")
    [stored] = episode_files.read(str(tmp_path / "a.jsonl"))
    assert stored.record.turn_count == 1


def test_the_end_of_a_with_block_closes_an_environment_and_its_wrappers() -> None:
    class Held(Env):
        closed = 0

        def _start(self) -> tuple[str, dict[str, Any]]:
            return "", {}

        def step(self, action: str) -> Any:
            return "", 0.0, True, False, {}

        def close(self) -> None:
            self.closed += 1

    inner = Held()
    with pytest.raises(ZeroDivisionError), TimeLimit(inner, 3) as env:
        assert env.unwrapped is inner
        raise ZeroDivisionError
    assert inner.closed == 1


def test_a_wrapper_that_wraps_nothing_says_what_it_lacks() -> None:
    class Forgetful(EnvWrapper):
        def __init__(self, env: Env) -> None:
            self.count = 0

    with pytest.raises(AttributeError, match=r"^Forgetful wraps nothing: its __init__ has to call super"):
        Forgetful(gem.make(WORDLE)).reset(seed=1)


def test_a_tool_is_registered_by_its_class_under_its_own_name() -> None:
    with pytest.raises(InvalidArgument, match=r"register_tool\('shout', Shout\)"):
        register_tool("shout", Shout())  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument, match="registered as 'loud' calls itself 'shout'"):
        register_tool("loud", Shout)


def test_a_rollout_says_what_a_slot_is() -> None:
    with pytest.raises(InvalidArgument, match=r"EpisodeRequest\(0, 'game:...', seed=0\), not 'game:Wordle-v0'"):
        list(rollout(RandomAgent(), [WORDLE]))  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("wrappers", "sentence"),
    [
        ("concat", "[{'name': 'concat'}]"),
        (["concat"], "[{'name': 'concat'}]"),
        ([{"name": "time_limit", "max_turn": 2}], "takes no argument 'max_turn'. Did you mean max_turns?"),
        ([{"name": "concat", "max_history": 2}], "Did you mean max_history_length?"),
        ([{"name": "conact"}], "Did you mean concat?"),
    ],
)
def test_wrap_says_how_a_wrapper_is_described(wrappers: Any, sentence: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        wrap(gem.make(WORDLE), wrappers)
    assert sentence in str(refused.value)


def test_one_description_is_a_list_of_one() -> None:
    env = wrap(gem.make(WORDLE), {"name": "time_limit", "max_turns": 2})
    assert env.max_turns == 2


def test_a_class_without_step_says_so_whatever_it_is_made_with() -> None:
    class NoStep(Env):
        def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
            return "", {}

    gem.register("custom:NoStep-v0", NoStep)
    try:
        for made in (lambda: gem.make("custom:NoStep-v0"), lambda: gem.make_vec(["custom:NoStep-v0"], seed=1)):
            with pytest.raises(TypeError, match=r"abstract method '?step"):
                made()
    finally:
        del ENV_REGISTRY["custom:NoStep-v0"]


def test_an_environment_prints_what_it_is() -> None:
    env = wrap(gem.make(WORDLE), [{"name": "concat"}])
    assert repr(env) == "ObservationWrapper(<game:Wordle-v0, no episode yet>)"
    env.reset(seed=7)
    assert str(env.unwrapped) == "<game:Wordle-v0, seed 7>"
