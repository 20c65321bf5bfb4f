"""WordSearch: every word once, in either order of its ends, never across both."""

from __future__ import annotations

import pytest

import gem
from gem.envs.games.word_search import WordSearch, cells_between
from gem.errors import InvalidArgument

IDS = ["game:WordSearch-v0-easy", "game:WordSearch-v0-hard", "game:WordSearch-v0-random"]


def make(env_id: str = IDS[0], seed: int = 0) -> WordSearch:
    env = gem.make(env_id).unwrapped
    assert isinstance(env, WordSearch)
    env.reset(seed=seed)
    return env


def places(env: WordSearch, word: str) -> int:
    lines = [env.board[i : i + env.size] for i in range(0, len(env.board), env.size)]
    lines += [env.board[i :: env.size] for i in range(env.size)]
    readings = {word, word[::-1]}
    return sum(line[i:].startswith(reading) for line in lines for i in range(env.size) for reading in readings)


@pytest.mark.parametrize("env_id", IDS)
def test_every_word_is_hidden_exactly_once(env_id: str) -> None:
    for seed in range(30):
        env = make(env_id, seed)
        assert len(set(env.words)) == 5
        assert [places(env, word) for word in env.words] == [1] * 5


def ends(env: WordSearch, index: int) -> tuple[int, int]:
    first, last = env.get_state()["ends"][index]
    return first, last


def test_the_ends_may_come_in_either_order() -> None:
    for turn_around in (False, True):
        env = make(seed=1)
        pair = ends(env, 0)
        a, b = pair[::-1] if turn_around else pair
        text, reward, *_ = env.step(f"\\boxed{{{a // env.size} {a % env.size} {b // env.size} {b % env.size}}}")
        assert env.words[0] in text
        assert reward == pytest.approx(1 / 5)


def test_found_letters_turn_small_and_a_word_counts_once() -> None:
    env = make(seed=2)
    a, b = ends(env, 2)
    action = f"\\boxed{{{a // env.size} {a % env.size} {b // env.size} {b % env.size}}}"
    info = env.step(action)[4]
    assert sum(letter.islower() for line in info["suffix"].splitlines()[1 : env.size + 1] for letter in line) == len(
        cells_between(a, b, env.size)
    )
    text, reward, _, _, info = env.step(action)
    assert (reward, info["error"]) == (0, "rule")
    assert "before" in text


@pytest.mark.parametrize(("action", "fault"), [("0 0 1 1", "rule"), ("0 0 0 99", "rule"), ("0 0 0 0", None)])
def test_other_places_earn_nothing(action: str, fault: str | None) -> None:
    _, reward, terminated, _, info = make().step(f"\\boxed{{{action}}}")
    assert (reward, terminated, info.get("error")) == (0, False, fault)


def test_too_many_words_are_refused() -> None:
    with pytest.raises(InvalidArgument):
        gem.make(IDS[0], num_words=99)
