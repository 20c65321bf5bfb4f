"""Wrappers that a trainer puts around an environment: chats, rewards, actions, small observations, records."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import gem
from gem.core import Env, Info, State, Step
from gem.errors import InvalidArgument, UsageError
from gem.records import episode_files
from gem.replay import verify_stored
from gem.wrappers import (
    WRAPPER_FACTORY,
    ClipReward,
    CompactObservation,
    NormalizeAction,
    ObservationWrapper,
    RecordEpisodes,
    ScaleReward,
    describe,
    get_wrapper_fns,
    wrap,
)
from tests.engine.episodes import random_episode, random_turns

HARD = "game:GuessTheNumber-v0-hard"
IDS = [spec.id for spec in gem.registry.specs() if spec.category == "game" and not spec.difficulty]


class Echo(Env):
    """Says what it was told; the second turn is a tool's."""

    def _start(self) -> tuple[str, Info]:
        self.turn = 0
        self.heard: list[str] = []
        return "I0", {"suffix": "S0"}

    def step(self, action: str) -> Step:
        self.turn += 1
        self.heard.append(action)
        info: Info = {"suffix": f"S{self.turn}"} | ({"parsed_action": "P2", "use_tool": True} if self.turn == 2 else {})
        return f"O{self.turn}", 0.5 * self.turn, False, False, info

    def get_state(self) -> State:
        return {"turn": self.turn}

    def set_state(self, state: State) -> None:
        self.turn = state["turn"]

    def sample_random_action(self) -> str:
        return "a"


class Tags:
    """A chat template that can be read."""

    def apply_chat_template(self, conversation: Any, *, tokenize: bool, add_generation_prompt: bool) -> str:
        assert not tokenize
        said = "".join(f"<{message['role']}>{message['content']}</>" for message in conversation)
        return said + "<reply>" * add_generation_prompt


def observations(name: str, **arguments: object) -> list[str]:
    """The reset's and three turns' observations."""
    tokenizer = Tags() if "chat" in name else None
    env = get_wrapper_fns(name, tokenizer=tokenizer)[0](Echo(), **arguments)
    first, _ = env.reset(seed=0)
    return [first, *(env.step(f"a{turn}")[0] for turn in (1, 2, 3))]


def test_plain_histories_are_gems() -> None:
    assert observations("concat") == ["I0\nS0", "I0\nO1\nS1", "I0\nO1\nO2\nS2", "I0\nO1\nO2\nO3\nS3"]
    assert observations("concat_with_action") == [
        "I0\nS0", "I0\na1\nO1\nS1", "I0\na1\nO1\nP2\nO2\nS2", "I0\na1\nO1\nP2\nO2\na3\nO3\nS3"
    ]  # fmt: skip


def test_a_chat_ends_with_the_suffix_in_its_last_message() -> None:
    assert observations("concat_chat") == [
        "<user>I0\nS0</><reply>",
        "<user>I0</><assistant>a1</><user>O1\nS1</><reply>",
        "<user>I0</><assistant>a1</><user>O1</><assistant>P2</><tool>O2\nS2</><reply>",
        "<user>I0</><assistant>a1</><user>O1</><assistant>P2</><tool>O2</><assistant>a3</><user>O3\nS3</><reply>",
    ]


def test_a_chat_on_reset_goes_on_as_plain_text() -> None:
    assert observations("concat_chat_on_reset")[:3] == [
        "<user>I0\nS0</><reply>",
        "<user>I0</><reply>\na1\nO1\nS1",
        "<user>I0</><reply>\na1\nO1\nP2\nO2\nS2",
    ]


@pytest.mark.parametrize(
    ("name", "last"),
    [
        ("concat", "I0\nO3\nS3"),
        ("concat_with_action", "I0\na3\nO3\nS3"),
        ("concat_chat", "<user>I0</><assistant>a3</><user>O3\nS3</><reply>"),
        ("concat_chat_on_reset", "<user>I0</><reply>\na3\nO3\nS3"),
    ],
)
def test_a_short_history_keeps_the_instructions(name: str, last: str) -> None:
    assert observations(name, max_history_length=1)[-1] == last


def test_a_chat_needs_a_tokenizer() -> None:
    with pytest.raises(InvalidArgument, match="tokenizer="):
        get_wrapper_fns("concat_chat")[0](Echo())
    with pytest.raises(InvalidArgument, match="Choose one"):
        ObservationWrapper(Echo(), include_chat_template=True, apply_chat_template_on_reset=True, tokenizer=Tags())


def test_rewards_are_scaled_and_clipped_in_the_order_of_the_wrappers() -> None:
    scaled = wrap(Echo(), [{"name": "scale_reward", "factor": 2, "offset": -1}, {"name": "clip_reward", "high": 1.5}])
    scaled.reset()
    assert [scaled.step("a")[1] for _ in range(4)] == [0, 1, 1.5, 1.5]
    clipped = wrap(Echo(), [{"name": "clip_reward", "low": 0.6, "high": 1}, {"name": "scale_reward", "factor": 10}])
    clipped.reset()
    assert [clipped.step("a")[1] for _ in range(3)] == [6, 10, 10]
    for wrong in (lambda: ClipReward(Echo(), 1, 1), lambda: ScaleReward(Echo(), float("inf"))):
        with pytest.raises(InvalidArgument):
            wrong()


def test_only_success_is_paid_and_penalties_stay() -> None:
    def rewards(*guesses: str) -> list[float]:
        game = gem.make("game:GuessTheNumber-v0-easy")
        env = wrap(game, [{"name": "reward_success"}])
        env.reset(seed=0)
        secret = game.unwrapped.get_state()["secret"]
        near = secret - 1 if secret > 1 else secret + 1
        return [env.step(guess.format(secret=secret, near=near))[1] for guess in guesses]

    near, secret = r"\boxed{{{near}}}", r"\boxed{{{secret}}}"
    assert rewards(near, secret) == [0, 1]
    assert rewards(near, near, near, near) == [0, 0, 0, 0]
    assert rewards(near, near, near, secret) == [0, 0, 0, 1]
    assert rewards(near, "no number") == [0, -0.1]


@pytest.mark.parametrize(
    ("action", "passed_on"),
    [
        ("\\boxed{up}", "\\boxed{up}"),
        ("up", "\\boxed{up}"),
        ("  up \n", "\\boxed{up}"),
        ("<think>\\boxed{down}?</think> up", "\\boxed{up}"),
        ("I say <answer> up </answer>.", "\\boxed{up}"),
        ("So \\\\boxed {up}", "So \\boxed{up}"),
        ("\uff15\uff17", "\\boxed{57}"),
        ("```\nup\n```", "\\boxed{up}"),
        ("First left,\nthen up.", "First left,\nthen up."),
        ("x" * 81, "x" * 81),
        ("", ""),
    ],
)
def test_an_action_is_put_into_the_usual_form(action: str, passed_on: str) -> None:
    echo = Echo()
    env = NormalizeAction(echo)
    env.reset()
    *_, info = env.step(action)
    assert echo.heard == [passed_on]
    assert info.get("parsed_action") == (None if action == passed_on else passed_on)
    assert env.normalize(passed_on) == passed_on


def test_the_history_shows_the_normalized_action() -> None:
    env = wrap(gem.make(HARD), [{"name": "normalize_action"}, {"name": "concat_with_action"}])
    env.reset(seed=1)
    assert "\n\\boxed{1}\n" in env.step("1")[0]


@pytest.mark.parametrize("env_id", IDS)
def test_a_compact_observation_is_the_board_and_nothing_else(env_id: str) -> None:
    plain, compact = gem.make(env_id), CompactObservation(gem.make(env_id))
    rules, _ = plain.reset(seed=2)
    board, info = compact.reset(seed=2)
    assert "suffix" not in info
    assert board.strip()
    assert rules not in board
    assert "\\boxed" not in board
    for turn in itertools.islice(random_turns(compact), 5):
        answer, reward, *_ = plain.step(turn[0])
        assert (turn[2], turn[1] != answer) == (reward, True)


def test_a_compact_observation_may_begin_with_rules_and_answers() -> None:
    env = CompactObservation(gem.make(HARD), answer=True, instructions=True)
    assert env.reset(seed=1)[0].startswith(gem.make(HARD).reset(seed=1)[0])
    assert env.step("\\boxed{1}")[0].startswith("The secret is higher than 1.\n\n")


def test_recorded_episodes_are_executed_again(tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    described = [{"name": "time_limit", "max_turns": 3}, {"name": "concat_with_action", "max_history_length": 2}]
    env = RecordEpisodes(wrap(gem.make("game:Wordle-v0-easy", max_turns=4), described), file, agent="me")
    for seed in range(4):
        random_episode(env, seed)
    env.reset(seed=9)
    env.step(env.sample_random_action())
    other = env.spawn(same_state=True)  # half an episode, gone on elsewhere
    list(random_turns(other))
    stored = list(episode_files.read(file))
    assert [one.record.identity.seed for one in stored] == [0, 1, 2, 3, 9]
    assert {one.agent for one in stored} == {"me"}
    identity = stored[0].record.identity
    assert (identity.env_id, identity.env_kwargs) == ("game:Wordle-v0-easy", {"max_turns": 4})
    assert [one["name"] for one in identity.wrappers] == ["time_limit", "concat_with_action"]
    assert [verify_stored(one) for one in stored] == [None] * 5
    text = file.read_text().replace('"reward": 0.0', '"reward": 1.0', 1)
    file.write_text(text)
    assert verify_stored(next(episode_files.read(file))) is not None


def test_what_a_killed_writer_left_of_an_episode_is_removed(tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    env = RecordEpisodes(gem.make("game:GuessTheNumber-v0-easy"), file)
    for seed in range(4):
        env.reset(seed=seed)
        env.step("no number")
        if seed < 2:
            file.write_bytes(file.read_bytes()[: (-1, -99)[seed]])
    assert [one.record.identity.seed for one in episode_files.read(file)] == [0, 2, 3]


def test_an_environment_that_breaks_is_recorded_as_failed(tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    env = gem.make(HARD)
    recorded = RecordEpisodes(env, file)
    recorded.reset(seed=1)
    env.secret = None  # type: ignore[attr-defined]
    with pytest.raises(TypeError):
        recorded.step("\\boxed{1}")
    (stored,) = episode_files.read(file)
    assert stored.record.failure.startswith("TypeError")
    assert stored.record.success is None


def test_what_cannot_be_made_again_is_not_recorded(tmp_path: Path) -> None:
    file = tmp_path / "episodes.jsonl"
    chat = ObservationWrapper(gem.make(HARD), include_action=True, include_chat_template=True, tokenizer=Tags())
    with pytest.raises(InvalidArgument, match="no plain data"):
        RecordEpisodes(chat, file)
    with pytest.raises(InvalidArgument, match=r"gem\.make"):
        RecordEpisodes(Echo(), file)
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"problem": "1 + 1?", "answer": "2"}\n')
    with pytest.raises(InvalidArgument, match=r"GSM8K cannot be recorded.*PosixPath.*a path as text"):
        RecordEpisodes(gem.make("math:GSM8K", dataset=rows), file)
    RecordEpisodes(gem.make("math:GSM8K", dataset=str(rows)), file)
    with pytest.raises(UsageError, match="cannot be written"):
        random_episode(RecordEpisodes(gem.make(HARD), tmp_path / "no" / "folder"), 1)


ALIKE = ("python_tool", "search_tool", "mcp_tool")
"""Of the wrappers with tools, which share one class, `tools` is tried."""
PLAIN = [
    name
    for name in WRAPPER_FACTORY
    if "chat" not in name and not name.startswith(ALIKE) and name not in ("record", "opponent")
]
NEEDED: dict[str, dict[str, Any]] = {
    "time_limit": {"max_turns": 3},
    "tools": {"tools": ["python", {"name": "search", "index": "wikigame"}]},
}


@pytest.mark.parametrize("names", [*itertools.permutations(PLAIN, 2), tuple(PLAIN)], ids="+".join)
def test_any_wrappers_compose_and_keep_their_state(names: tuple[str, ...]) -> None:
    described = [{"name": name, **NEEDED.get(name, {})} for name in names]
    env = wrap(gem.make(HARD), described)
    assert [one["name"] for one in describe(env)] == list(names)
    assert wrap(gem.make(HARD), describe(env)).reset(seed=4) == env.reset(seed=4)
    env.step(env.sample_random_action())
    other = env.spawn()
    other.set_state(json.loads(json.dumps(env.get_state())))
    assert list(random_turns(other)) == list(random_turns(env))
    assert other.reset() == env.reset()
