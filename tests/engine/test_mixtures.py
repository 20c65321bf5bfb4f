"""Mixtures: one environment that draws its episodes from several."""

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.agents import make_agent
from gem.agents.endpoint.functions import functions_of
from gem.check import check
from gem.envs.games.guess_the_number import GuessTheNumber
from gem.errors import EpisodeOver, InvalidArgument, UnknownEnvironment
from gem.records import EpisodeRecord, Identity, StoredEpisode
from gem.registry import ENV_REGISTRY
from gem.replay import frames, is_taped, verify
from gem.rollout import EpisodeRequest, rollout
from gem.verification.reexecution import reexecute
from gem.wrappers import wrap
from tests.engine.episodes import random_episode
from tests.engine.tools.script import Script

EASY = "game:GuessTheNumber-v0-easy"
PARTS = [
    {"env_id": EASY, "weight": 3},
    {"env_id": "game:Wordle-v0-easy", "kwargs": {"max_turns": 2}},
    {"env_id": "game:Minesweeper-v0-easy", "wrappers": [{"name": "time_limit", "max_turns": 4}]},
]
NAME = "mix:test-v0"


@pytest.fixture
def mixture():
    """Register a mixture under NAME, and forget it afterwards."""

    def register(**more: object) -> gem.Env:
        gem.register_mixture(NAME, {"parts": PARTS, **more})
        return gem.make(NAME)

    yield register
    ENV_REGISTRY.pop(NAME, None)


def drawn(env: gem.Env, seeds: range) -> list[str]:
    return [env.reset(seed=seed)[1]["env_id"] for seed in seeds]


def solve(env: gem.Env, solved: bool) -> str:
    """Play the episode that was begun so that it ends as wanted; the id of its environment."""
    over = False
    while not over:
        secret = env.get_state()["env"]["secret"]
        action = f"\\boxed{{{secret}}}" if solved else "I give up."
        _, _, terminated, truncated, info = env.step(action)
        over = terminated or truncated
    assert info["success"] is solved
    return info["env_id"]


def test_parts_are_drawn_by_weight_and_the_info_names_them(mixture) -> None:
    counts = Counter(drawn(mixture(), range(1000)))
    assert set(counts) == {part["env_id"] for part in PARTS}
    assert 540 < counts[EASY] < 660  # three fifths


def test_an_episode_is_that_of_the_part_under_its_seed(mixture) -> None:
    env = mixture()
    for seed in range(20):
        first, *turns = random_episode(env, seed)
        place = next(i for i, part in enumerate(PARTS) if part["env_id"] == first[5]["env_id"])
        part = PARTS[place]
        alone = wrap(gem.make(part["env_id"], **part.get("kwargs", {})), part.get("wrappers", []))
        observation, _ = alone.reset(seed=first[5]["env_seed"])
        assert observation == first[1]
        for action, *rest, info in turns:
            assert info.pop("env_id") == part["env_id"]
            del info["env_seed"]
            assert alone.step(action) == (*rest, info)


def test_a_mixture_keeps_the_contract(mixture) -> None:
    mixture()
    assert gem.spec(NAME).replay == "exact"
    wrong = [finding for finding in check(NAME, modules=[__name__]) if finding.status == "wrong"]
    # the check's other processes do not know what was registered here
    assert [finding.title for finding in wrong if "process" not in finding.title.lower()] == []


@pytest.mark.parametrize("backend", ["sync", "threads"])
def test_it_composes_with_vectors_and_wrappers(mixture, backend: str) -> None:
    mixture()
    fns = gem.wrappers.get_wrapper_fns("concat,episode_tracking")
    with gem.make_vec([NAME] * 6, wrappers=fns, async_mode=backend, seed=3) as vector:
        _, infos = vector.reset()
        alone = [gem.make(NAME, seed=3 + i) for i in range(6)]
        assert [info["env_id"] for info in infos] == [env.reset()[1]["env_id"] for env in alone]
        actions = [env.sample_random_action() for env in alone]
        _, rewards, *_ = vector.step(actions)
        assert rewards == [env.step(action)[1] for env, action in zip(alone, actions, strict=True)]


def test_the_rollout_records_it_and_the_record_verifies(mixture) -> None:
    mixture()
    for record in rollout(make_agent("random"), [EpisodeRequest(i, NAME, i) for i in range(8)]):
        assert not record.failure
        assert verify(record.identity, record.turns, first_observation=record.first_observation) is None


GUESSING = [{"env_id": EASY}, {"env_id": "game:GuessTheNumber-v0"}, {"env_id": "game:GuessTheNumber-v0-hard"}]


def test_stages_open_one_after_the_other(mixture) -> None:
    env = mixture(parts=GUESSING, curriculum={"kind": "stages", "target": 0.75, "window": 4})
    assert gem.spec(NAME).replay == "none"
    assert env.weights() == [1, 0, 0]
    for solved in (False, True, True):
        env.reset()
        assert solve(env, solved) == EASY
    assert env.weights() == [1, 0, 0]  # the window is not full
    env.reset()
    solve(env, True)
    assert env.weights() == [1, 1, 0]
    while env.weights()[2] == 0:
        env.reset()
        solve(env, True)
    assert set(drawn(env, range(60))) == {part["env_id"] for part in GUESSING}


def test_what_is_always_or_never_solved_is_drawn_less(mixture) -> None:
    curriculum = {"kind": "learnable", "target": 0.5, "window": 2, "floor": 0.2}
    env = mixture(parts=GUESSING, curriculum=curriculum)
    assert env.weights() == [1, 1, 1]
    outcomes = {GUESSING[0]["env_id"]: [True, True], GUESSING[1]["env_id"]: [True, False]}
    while any(outcomes.values()):
        _, info = env.reset()
        left = outcomes.get(info["env_id"])
        if left:
            solve(env, left.pop())
    assert env.weights() == pytest.approx([0.2, 1, 1])


def test_the_curriculum_is_part_of_the_state(mixture) -> None:
    env = mixture(parts=GUESSING, curriculum={"kind": "learnable", "window": 3})
    env.reset(seed=1)
    for seed in range(12):
        solve(env, seed % 2 == 0)
        env.reset()
    other = gem.make(NAME)
    other.set_state(json.loads(json.dumps(env.get_state())))
    assert other.weights() == env.weights() != [1, 1, 1]
    for seed in range(6):
        assert solve(other, seed > 3) == solve(env, seed > 3)
        assert other.reset() == env.reset()
    spawned = env.spawn(same_state=True)
    assert spawned.get_state() == env.get_state()
    assert env.spawn().weights() == [1, 1, 1]


def test_a_file_is_read_and_mistakes_are_named(mixture, tmp_path: Path) -> None:
    file = tmp_path / "mixture.json"
    file.write_text(json.dumps({"parts": PARTS}))
    gem.register_mixture(NAME, file)
    assert gem.make(NAME).reset(seed=1)[1]["env_id"] in {part["env_id"] for part in PARTS}
    for wrong, said in (
        ({"parts": []}, "parts"),
        ({"parts": [{"env_id": EASY, "weight": 0}]}, "parts.0.weight"),
        ({"parts": PARTS, "curriculum": {"kind": "luck"}}, "curriculum.kind"),
        ({"part": PARTS}, "part"),
        (tmp_path / "nothing.json", "cannot be read"),
    ):
        with pytest.raises(InvalidArgument, match=said):
            gem.register_mixture("mix:wrong-v0", wrong)
    with pytest.raises(UnknownEnvironment, match="Did you mean"):
        gem.register_mixture("mix:wrong-v0", {"parts": [{"env_id": "game:Wordel-v0"}]})
    with pytest.raises(EpisodeOver):
        gem.make(NAME).step("\\boxed{1}")


PROGRAM = "<python>import time; print(time.time_ns())</python>"
WITH_PYTHON = [{"env_id": EASY, "wrappers": [{"name": "python_tool_no_int_reward"}]}, {"env_id": "game:Wordle-v0-easy"}]


def played_with_python(*actions: str) -> EpisodeRecord:
    seed = next(seed for seed in range(20) if gem.make(NAME).reset(seed=seed)[1]["env_id"] == EASY)
    [record] = rollout(Script(*actions), [EpisodeRequest(0, NAME, seed)])
    assert record.turns[0].info["use_tool"] is True
    return record


def test_what_the_tools_of_a_part_gave_is_read_from_the_record(mixture) -> None:
    mixture(parts=WITH_PYTHON)
    assert (gem.spec(NAME).replay, gem.spec(NAME).cost) == ("taped", "slow")
    record = played_with_python(PROGRAM, "\\boxed{x}")
    assert is_taped(record.identity)
    assert verify(record.identity, record.turns, first_info=record.first_info, strict=True) is None
    *_, shown, last = frames(record.identity, [turn.action for turn in record.turns], record.infos)
    assert shown.observation == record.turns[0].observation
    assert (last.observation, last.info) == (record.turns[1].observation, record.turns[1].info)


def test_a_forged_output_of_a_tool_of_a_part_is_found(mixture) -> None:
    mixture(parts=WITH_PYTHON)
    record = played_with_python("<python>print(6 * 7)</python>", "\\boxed{x}")
    [finding] = reexecute([StoredEpisode("", "", record)])
    assert (finding.status, finding.notes) == ("same", ())
    forged = json.loads(json.dumps(record.turns[0].info).replace("42", "43"))
    observation = record.turns[0].observation.replace("42", "43")
    record.turns[0] = replace(record.turns[0], observation=observation, info=forged)
    [finding] = reexecute([StoredEpisode("", "", record)])
    assert (finding.status, finding.field) == ("differs", "tape")


def test_an_output_that_does_not_repeat_is_noted(mixture) -> None:
    mixture(parts=WITH_PYTHON)
    [finding] = reexecute([StoredEpisode("", "", played_with_python(PROGRAM, "\\boxed{x}"))])
    assert (finding.status, finding.notes) == (
        "same",
        ("Outputs of python do not repeat and were taken from the record.",),
    )


@pytest.mark.parametrize(
    ("part", "replay", "taped"),
    [
        ({"env_id": EASY}, "exact", False),
        ({"env_id": EASY, "kwargs": {"tools": ["python"]}}, "taped", True),
        ({"env_id": "math:GSM8K"}, "exact", True),
        ({"env_id": "math:GSM8K-python"}, "taped", True),
    ],
)
def test_a_mixture_is_taped_if_a_part_is(mixture, part: dict[str, Any], replay: str, taped: bool) -> None:
    gem.register_mixture(NAME, {"parts": [{"env_id": "game:Wordle-v0-easy"}, part]})
    assert gem.spec(NAME).replay == replay
    assert is_taped(Identity(NAME, 1, 0)) is taped


def test_the_tools_of_a_part_are_there_once_and_only_in_that_part(mixture) -> None:
    tooled = "mix:tooled-v0"
    gem.register(tooled, GuessTheNumber, tools=["python"])
    try:
        env = mixture(parts=[{"env_id": tooled}, {"env_id": "game:Wordle-v0-easy"}])
        firsts = {info["env_id"]: text for text, info in (env.reset(seed=seed) for seed in range(20))}
        alone = gem.make(tooled).reset(seed=1)[0]
        assert firsts[tooled].count("<python>") == alone.count("<python>") > 0
        assert "<python>" not in firsts["game:Wordle-v0-easy"]
    finally:
        del ENV_REGISTRY[tooled]


@pytest.mark.parametrize(
    ("part", "tools"),
    [
        ({"env_id": EASY}, ()),
        ({"env_id": "math:GSM8K-python"}, ("python",)),
        ({"env_id": "math:GSM8K-python", "kwargs": {"tools": [{"name": "search", "index": "wikigame"}]}}, ("search",)),
        ({"env_id": "math:GSM8K-python", "kwargs": {"tools": []}}, ()),
        ({"env_id": EASY, "wrappers": [{"name": "search_tool"}, {"name": "tools", "tools": ["python"]}]},
         ("search", "python")),
    ],
)  # fmt: skip
def test_a_mixture_has_the_tools_of_its_parts(mixture, part: dict[str, Any], tools: tuple[str, ...]) -> None:
    for _ in range(2):  # registering it again changes nothing
        gem.register_mixture(NAME, {"parts": [{"env_id": "game:Wordle-v0-easy"}, part]})
    assert gem.spec(NAME).tools == tools
    assert "tools" not in gem.spec(NAME).kwargs, "make puts none around it"


def test_a_model_is_offered_the_functions_of_the_part_that_is_played(mixture) -> None:
    tooled = {"env_id": EASY, "kwargs": {"tools": ["python"], "tool_format": "native"}}
    env = wrap(mixture(parts=[tooled, {"env_id": "game:Wordle-v0-easy"}]), [{"name": "episode_tracking"}])
    assert [function["function"]["name"] for function in functions_of(env)] == ["act"]
    for seed in range(20):
        expected = ["act", "python"] if env.reset(seed=seed)[1]["env_id"] == EASY else ["act"]
        assert [function["function"]["name"] for function in functions_of(env)] == expected


WAYS = ("left", "up", "right", "down")


def test_a_fork_of_a_mixture_draws_as_often_anew_as_one_of_its_part(mixture) -> None:
    part = "game:Game2048-v0-easy"
    alone, mixed = gem.make(part), mixture(parts=[{"env_id": part}])
    _, info = mixed.reset(seed=3)
    alone.reset(seed=info["env_seed"])

    def continuations(env: gem.Env) -> list[tuple[str, ...]]:
        state = env.get_state()
        found = []
        for key in range(1, 9):
            env.set_state(state)
            env.draw_anew(key)
            found.append((env.sample_random_action(), *(env.step(f"\\boxed{{{way}}}")[4]["suffix"] for way in WAYS)))
        return found

    found = continuations(mixed)
    assert len(set(found)) > 1
    assert found == continuations(alone)
    assert mixed.draw_key == mixed.current.draw_key == 8
    assert mixed.reset(seed=3)[1] == gem.make(NAME).reset(seed=3)[1]
    assert mixed.draw_key == mixed.current.draw_key == 0


def test_a_part_with_several_seats_needs_an_opponent(mixture) -> None:
    with pytest.raises(InvalidArgument, match="2 seats"):
        mixture(parts=[{"env_id": "duel:TicTacToe-v0"}])
