"""Crosswords: the dictionary, the layout, and the letters."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest

import gem
from gem.data import clues as clues_module
from gem.data.clues import clues
from gem.envs.games.crosswords import CLUES_HASH, VOID, Crosswords
from gem.errors import InvalidArgument

IDS = ["game:Crosswords-v0-easy", "game:Crosswords-v0-hard", "game:Crosswords-v0-random"]


def make(env_id: str, seed: int = 0) -> Crosswords:
    env = gem.make(env_id).unwrapped
    assert isinstance(env, Crosswords)
    env.reset(seed=seed)
    return env


def test_the_dictionary_has_hundreds_of_words_with_a_clue_of_their_own() -> None:
    entries = [*clues(hard=False), *clues(hard=True)]
    assert len(entries) >= 300
    assert max(Counter(entry.word for entry in entries).values()) == 1
    assert max(Counter(entry.clue for entry in entries).values()) == 1
    for entry in entries:
        assert entry.word.isascii()
        assert entry.word.islower()
        assert entry.word not in entry.clue.lower(), entry


def test_the_hash_is_that_of_the_dictionary() -> None:
    content = (Path(clues_module.__file__).parent / "clues.jsonl").read_bytes()
    assert hashlib.sha256(content).hexdigest().startswith(CLUES_HASH)


@pytest.mark.parametrize("env_id", IDS)
def test_words_cross_and_nothing_else_reads_as_one(env_id: str) -> None:
    words = {entry.word for hard in (False, True) for entry in clues(hard)}
    for seed in range(100):
        env = make(env_id, seed)
        lines = [env.solution[i : i + env.cols] for i in range(0, len(env.solution), env.cols)]
        lines += ["".join(line[column] for line in lines) for column in range(env.cols)]
        runs = [run for line in lines for run in line.split(VOID) if len(run) > 1]
        assert len(runs) == len(env.slots) == 3
        assert set(runs) <= words
        assert env.letters == sum(map(len, runs)) - 2
        assert env.letters <= env.max_turns


def test_letters_are_right_wrong_repeated_or_misplaced() -> None:
    env = make("game:Crosswords-v0-easy")
    cell = env.solution.index(next(letter for letter in env.solution if letter != VOID))
    row, column = divmod(cell, env.cols)
    right = env.solution[cell]
    wrong = "x" if right != "x" else "y"
    assert env.step(f"\\boxed{{{row} {column} {wrong}}}")[1] == 0
    text, _, _, _, info = env.step(f"\\boxed{{{row} {column} {wrong.upper()}}}")
    assert "before" in text
    assert info["error"] == "rule"
    assert env.step(f"\\boxed{{{row} {column} {right}}}")[1] == pytest.approx(1 / env.letters)
    assert "already has" in env.step(f"\\boxed{{{row} {column} {right}}}")[0]
    if VOID in env.solution:
        row, column = divmod(env.solution.index(VOID), env.cols)
        assert "no part of a word" in env.step(f"\\boxed{{{row} {column} a}}")[0]


def test_random_takes_both_halves_of_the_dictionary() -> None:
    easy = {entry.clue for entry in clues(hard=False)}
    kinds = {make("game:Crosswords-v0-random", seed).slots[0].clue in easy for seed in range(20)}
    assert kinds == {True, False}


def test_too_few_turns_are_refused() -> None:
    with pytest.raises(InvalidArgument):
        gem.make("game:Crosswords-v0-easy", max_turns=5)
