"""Actions are found in any text, quickly, and no text breaks an environment."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import gem
from tests.yardstick import times_the_yardstick

IDS = ["game:GuessTheNumber-v0-hard", "game:Minesweeper-v0-hard", "game:Sokoban-v0-easy"]
MEGABYTE = 1_000_000
PROSE = st.text(st.characters(exclude_characters="\\"), max_size=200)


@pytest.fixture(scope="module", params=IDS)
def env(request: pytest.FixtureRequest) -> gem.Env:
    return gem.make(request.param)


@given(before=PROSE, between=PROSE, after=PROSE, first=st.integers(0, 99), seed=st.integers(0, 2**63 - 1))
@settings(max_examples=60, deadline=None)
def test_the_last_box_counts_whatever_stands_around(
    env: gem.Env, before: str, between: str, after: str, first: int, seed: int
) -> None:
    env.reset(seed=seed)
    action = env.sample_random_action()
    other = env.spawn(same_state=True)
    assert env.step(f"{before}\\boxed{{{first}}}{between}{action}{after}") == other.step(action)


@given(
    text=st.one_of(
        st.text(max_size=300), st.from_regex(r"(\\boxed\{.{0,12}\}?){1,4}"), st.from_regex(r"[\ud800-\udfff\x00]+")
    )
)
@settings(max_examples=150, deadline=None)
def test_any_text_gets_an_answer(env: gem.Env, text: str) -> None:
    env.reset(seed=1)
    observation, reward, terminated, truncated, info = env.step(text)
    assert observation.encode()  # no lone surrogate comes back
    assert "\x00" not in observation
    assert -0.1 <= reward <= 1
    assert not (terminated and truncated)
    assert isinstance(info["suffix"], str)


@pytest.mark.parametrize("action", ["\\boxed{N}", "\\boxed{reveal N 1}", "\\boxed{flag 1 N}"])
def test_huge_numbers_are_out_of_range(action: str) -> None:
    env = gem.make(IDS[0] if "l" not in action else IDS[1])
    for digits in ("9" * 5, "9" * 19, "9" * 5000):
        env.reset(seed=1)
        _, reward, terminated, _, info = env.step(action.replace("N", digits))
        assert (reward, terminated, info["error"]) == (0.0, False, "rule")


@pytest.mark.parametrize(
    "piece",
    ["a", "\\boxed{", "\\boxed{1", "\\boxed{reveal 1 ", "1", "\\boxed{up", "\\boxed{reveal 1 1}", "\\", "{", " "],
)
def test_a_megabyte_takes_a_moment(env: gem.Env, piece: str) -> None:
    env.reset(seed=1)
    text = piece * (MEGABYTE // len(piece))
    assert times_the_yardstick(lambda: env.step("\\boxed{" + text)) < 20
