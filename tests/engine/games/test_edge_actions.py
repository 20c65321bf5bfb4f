r"""What each game makes of odd actions: several boxes, prose, odd spaces and digits, repetitions, the last turn.

Every row puts a game into a state, sends actions and says what each of them earns; an action that ends the episode is
the last of its row. The rewards are those of GEM.
"""

from __future__ import annotations

from typing import Any

import pytest

import gem
from tests.engine.parity.adapter import to_state

Hidden = dict[str, Any]

NUMBER = {
    "min_number": 1, "max_number": 10, "max_turns": 4, "game_number": 7, "previous_guesses": [], "turn_count": 0,
}  # fmt: skip
CODE = {
    "code_length": 4, "num_numbers": 8, "max_turns": 30, "game_code": [1, 2, 3, 4], "previous_guesses": [],
    "milestone": 0, "turn_count": 0,
}  # fmt: skip
WORD = {
    "word_length": 5, "max_turns": 25, "secret_word": "PLANT", "previous_guesses": [], "milestones": [0] * 5,
    "turn_count": 0,
}  # fmt: skip
GALLOWS = {
    "word_length": 5, "max_turns": 15, "secret_word": "ERROR", "board": ["_"] * 5, "guessed_letters": [],
    "turn_count": 0,
}  # fmt: skip
TOWERS = {"num_disks": 3, "max_turns": 10, "board": {"A": [3, 2, 1], "B": [], "C": []}, "turn_count": 0}
TILES = {"num_rows": 2, "max_turns": 10, "board": [[1, 2], [None, 3]], "turn_count": 0}
FIELD = {
    "rows": 2, "cols": 3, "num_mines": 1, "max_turns": 9, "grid": [[-1, 1, 0], [1, 1, 0]],
    "revealed": [[False] * 3] * 2, "flags": [[False] * 3] * 2, "first_reveal": True, "turn_count": 0,
}  # fmt: skip
NUMBERS = {
    "scale": 4, "max_turns": 15, "init_num_empty": 2, "turn_count": 0,
    "full_grid": [[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]],
    "board": [[0, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 0]],
}  # fmt: skip
DOUBLES = {
    "target_tile": 64, "max_turns": 50, "turn_count": 0, "max_tile_achieved": 4, "init_max_tile_achieved": 2,
    "board": [[32, 32, 0, 0], [0] * 4, [0] * 4, [0] * 4],
}  # fmt: skip
ROOM = {
    "max_turns": 20, "turn_count": 0,
    "room_fixed": [[0] * 5, [0, 1, 1, 2, 0], [0, 2, 1, 1, 0], [0] * 5],
    "room_state": [[0] * 5, [0, 5, 4, 2, 0], [0, 3, 1, 1, 0], [0] * 5],
}  # fmt: skip
CROSSING = {
    "max_turns": 30, "turn_count": 0, "total_letter_cells": 5,
    "solution": [["C", "A", "T"], [".", "D", "."], [".", "D", "."]],
    "board": [["_", "_", "_"], [".", "_", "."], [".", "_", "."]],
    "placed_words": {"CAT": [0, 0, "across"], "ADD": [0, 1, "down"]},
}  # fmt: skip
LETTERS = {
    "max_turns": 20, "turn_count": 0, "correct_words": [],
    "game_board": [list("CATQ"), list("XDXX"), list("XDXX"), list("XXXX")],
    "placed_words": {"CAT": [0, 0, "across"], "ADD": [0, 1, "down"]},
}  # fmt: skip


def last(hidden: Hidden, **changes: Any) -> Hidden:
    """The same, with one turn left."""
    return {**hidden, "turn_count": hidden["max_turns"] - 1, **changes}


MALFORMED = -0.1
ROWS: list[tuple[str, Hidden, list[tuple[str, float]], bool]] = [
    ("GuessTheNumber-v0-easy", NUMBER, [(r"\boxed{3}, no, \boxed{11}", 0), (r"\boxed{007}", 1)], True),
    ("GuessTheNumber-v0-easy", NUMBER, [(r"\boxed{\boxed{7}}", 1)], True),
    ("GuessTheNumber-v0-easy", NUMBER, [(r"\boxed{7} or \boxed{+7} or \boxed{7.0}", 1)], True),
    ("GuessTheNumber-v0-easy", NUMBER, [(r"\boxed{ 7}", MALFORMED)], True),
    ("GuessTheNumber-v0-easy", NUMBER, [(r"\boxed{-7}", MALFORMED)], True),
    ("GuessTheNumber-v0-easy", last(NUMBER, previous_guesses=[5]), [(r"\boxed{5}", 1 - 2 / 9)], True),
    ("GuessTheNumber-v0-easy", last(NUMBER), [(r"\boxed{11}", 0)], True),
    ("GuessTheNumber-v0-easy", last(NUMBER), [(r"\boxed{7}", 1)], True),
    ("GuessTheNumber-v0-easy", last(NUMBER), [("seven", MALFORMED)], True),
    (
        "Mastermind-v0-hard",
        CODE,
        [
            (r"\boxed{1 5 6 7}", 0.25),
            (r"\boxed{1 5 6 7}", 0),
            (r"\boxed{5 2 6 7}", 0),
            (r"\boxed{1 1 1 1}", 0),
            (r"\boxed{1 2 3}", 0),
            (r"\boxed{1 2 3 9}", 0),
            (r"\boxed{0 2 3 4}", 0),
            (r"\boxed{1234}", 0),
            ("\\boxed{1\t2\n3  8}", 0.5),
            (r"\boxed{1 2 3 4}", 0.25),
        ],
        True,
    ),
    ("Mastermind-v0-hard", CODE, [(r"\boxed{1,2,3,4}", MALFORMED)], True),
    ("Mastermind-v0-hard", CODE, [(r"\boxed{ 1 2 3 4 }", MALFORMED)], True),
    ("Mastermind-v0-hard", last(CODE, milestone=2), [(r"\boxed{1 2 3 8}", 0.25)], True),
    (
        "Wordle-v0-hard",
        WORD,
        [
            (r"\boxed{plxxx}", 0.2),
            (r"\boxed{PLXXX}", 0),
            (r"\boxed{xlaxx}", 0.1),
            (r"\boxed{plan}", 0),
            ("\\boxed{p\tlant}", 0),
            (r"\boxed{P l a n t}", 0.7),
        ],
        True,
    ),
    ("Wordle-v0-hard", WORD, [(r"\boxed{pl4nt}", MALFORMED)], True),
    ("Wordle-v0-hard", last(WORD, milestones=[1, 1, 1, 1, 0]), [(r"\boxed{xxxxt}", 0.1)], True),
    (
        "Hangman-v0-random",
        GALLOWS,
        [
            (r"\boxed{r}", 0.3),
            (r"\boxed{R}", 0),
            (r"\boxed{Z}", 0),
            (r"\boxed{Z}", 0),
            (r"\boxed{ERR}", 0),
            (r"\boxed{EAGER}", 0),
            (r"\BOXED{error}", 0.7),
        ],
        True,
    ),
    ("Hangman-v0-random", GALLOWS, [(r"\boxed{E R}", MALFORMED)], True),
    ("Hangman-v0-random", {**GALLOWS, "board": list("ERROR"), "guessed_letters": ["E", "O", "R"]},
     [(r"\boxed{error}", 0.5)], True),
    (
        "TowerofHanoi-v0-easy",
        TOWERS,
        [(r"\boxed{B C}", 0), (r"\boxed{ac}", 0), (r"\boxed{A,C}", 0), ("\\boxed{a ,\tb}", 0), (r"\boxed{A A}", 0)],
        False,
    ),
    ("TowerofHanoi-v0-easy", TOWERS, [(r"\boxed{A-C}", MALFORMED)], True),
    ("TowerofHanoi-v0-easy", TOWERS, [(r"\boxed{A D}", MALFORMED)], True),
    ("TowerofHanoi-v0-easy", last(TOWERS, board={"A": [1], "B": [], "C": [3, 2]}), [(r"\boxed{A C}", 1)], True),
    ("TowerofHanoi-v0-easy", last(TOWERS, board={"A": [1], "B": [], "C": [3, 2]}), [(r"\boxed{B C}", 2 / 3)], True),
    ("FifteenPuzzle-v0-easy", TILES, [(r"\boxed{right}", 0), (r"\boxed{up} then \boxed{left}", 1)], True),
    ("FifteenPuzzle-v0-easy", TILES, [(r"\boxed{Left}", MALFORMED)], True),
    ("FifteenPuzzle-v0-easy", last(TILES), [(r"\boxed{up}", 0.5)], True),
    ("FifteenPuzzle-v0-easy", last(TILES), [(r"\boxed{down}", 0.25)], True),
    (
        "Minesweeper-v0-easy",
        FIELD,
        [
            (r"\boxed{FLAG 0 0}", 0),
            (r"\boxed{open 0 1}", 0),
            (r"\boxed{reveal 2 0}", 0),
            (r"\boxed{Reveal 0 1}", 0.2),
            (r"\boxed{reveal 0 1}", 0),
            (r"\boxed{reveal 1 2}", 0.6),
            (r"\boxed{reveal 1 0}", 0.2),
        ],
        True,
    ),
    ("Minesweeper-v0-easy", FIELD, [(r"\boxed{reveal  0 1}", MALFORMED)], True),
    ("Minesweeper-v0-easy", FIELD, [(r"\boxed{flag 0 0} \boxed{reveal 0 0}", 0)], True),
    ("Minesweeper-v0-easy", last(FIELD), [(r"\boxed{reveal 1 2}", 0.8)], True),
    (
        "Sudoku-v0-easy",
        NUMBERS,
        [
            (r"\boxed{0 1 1}", 0),
            (r"\boxed{1 1 5}", 0),
            (r"\boxed{1 2 2}", 0),
            (r"\boxed{1 1 2}", 0),
            ("\\boxed{1\t1\n1}", 0.5),
            (r"\boxed{1 1 1}", 0),
            (r"\boxed{4 4 1}", 0.5),
        ],
        True,
    ),
    ("Sudoku-v0-easy", NUMBERS, [(r"\boxed{1  1 1}", MALFORMED)], True),
    ("Sudoku-v0-easy", last(NUMBERS), [(r"\boxed{1 1 1}", 0.5)], True),
    ("Game2048-v0-easy", DOUBLES, [(r"\boxed{UP}", 0), (r"\Boxed{Left}", 0.8)], True),
    ("Game2048-v0-easy", DOUBLES, [(r"\boxed{left up}", MALFORMED)], True),
    ("Game2048-v0-easy", last(DOUBLES), [(r"\boxed{down}", 0.6)], True),
    ("Sokoban-v0-easy", ROOM, [(r"\boxed{up}", 0), (r"\boxed{down} not; \boxed{RIGHT}", 1)], True),
    ("Sokoban-v0-easy", ROOM, [(r"\boxed{ right}", MALFORMED)], True),
    ("Sokoban-v0-easy", last(ROOM), [(r"\boxed{up}", 0.5)], True),
    (
        "Crosswords-v0-easy",
        CROSSING,
        [
            (r"\boxed{0 0 X}", 0),
            (r"\boxed{1 0 C}", 0),
            (r"\boxed{9 0 C}", 0),
            (r"\boxed{0   0   c}", 0.2),
            (r"\boxed{0 0 C}", 0),
            (r"\boxed{0 1 A}\boxed{1 1 D}", 0.2),
            (r"\boxed{0 1 A}", 0.2),
            (r"\boxed{0 2 T}", 0.2),
            (r"\boxed{2 1 D}", 0.2),
        ],
        True,
    ),
    ("Crosswords-v0-easy", CROSSING, [(r"\boxed{[0 0 C]}", MALFORMED)], True),
    ("Crosswords-v0-easy", CROSSING, [(r"\boxed{0 0 CA}", MALFORMED)], True),
    ("Crosswords-v0-easy", last(CROSSING), [(r"\boxed{0 0 C}", 0.2)], True),
    (
        "WordSearch-v0-easy",
        LETTERS,
        [
            (r"\boxed{0 0 2 2}", 0),
            (r"\boxed{0 0 0 9}", 0),
            (r"\boxed{0 0 0 1}", 0),
            (r"\boxed{0 2  0 0}", 0.5),
            (r"\boxed{0 2 0 0}", 0),
            (r"\boxed{0 1 2 1}", 0.5),
        ],
        True,
    ),
    ("WordSearch-v0-easy", LETTERS, [(r"\boxed{[0 0 0 2]}", MALFORMED)], True),
    ("WordSearch-v0-easy", LETTERS, [(r"\boxed{0,0,0,2}", MALFORMED)], True),
    ("WordSearch-v0-easy", last(LETTERS), [(r"\boxed{0 0 0 2}", 0.5)], True),
]  # fmt: skip


@pytest.mark.parametrize(("env_id", "hidden", "turns", "ends"), ROWS)
def test_odd_actions_earn_what_the_rules_say(
    env_id: str, hidden: Hidden, turns: list[tuple[str, float]], ends: bool
) -> None:
    env = gem.make(f"game:{env_id}")
    env.set_state(to_state(f"game:{env_id}", hidden))
    for number, (action, wanted) in enumerate(turns, 1):
        _, reward, terminated, truncated, info = env.step(action)
        assert reward == pytest.approx(wanted, abs=1e-12), action
        assert (terminated or truncated) == (ends and number == len(turns)), action
        assert (info.get("error") == "format") == (wanted == MALFORMED)
        if wanted == MALFORMED:
            assert (terminated, truncated) == (True, False), "a malformed action ends the episode by itself"


@pytest.mark.parametrize(
    ("env_id", "hidden", "action", "reward"),
    [
        ("GuessTheNumber-v0-easy", NUMBER, "\\boxed{\uff17}", 1),
        ("Mastermind-v0-hard", CODE, "\\boxed{1\u00a02\u00a03\u00a0\u0664}", 1),
        ("Minesweeper-v0-easy", FIELD, "\\boxed{reveal\u00a00 \uff11}", 0.2),
        ("Sudoku-v0-easy", NUMBERS, "\\boxed{1\u00a01 \uff11}", 0.5),
        ("Crosswords-v0-easy", CROSSING, "\\boxed{\uff10\u00a00 C}", 0.2),
        ("WordSearch-v0-easy", LETTERS, "\\boxed{0 0\u00a00 \uff12}", 0.5),
    ],
)
def test_digits_and_spaces_of_any_script_are_read(env_id: str, hidden: Hidden, action: str, reward: float) -> None:
    env = gem.make(f"game:{env_id}")
    env.set_state(to_state(f"game:{env_id}", hidden))
    assert env.step(action)[1] == pytest.approx(reward)
    assert env.get_state()["turn"] == 1


@pytest.mark.parametrize(
    ("env_id", "hidden", "action"),
    [
        ("Game2048-v0-easy", DOUBLES, "\\boxed{r\u0131ght}"),
        ("Sokoban-v0-easy", ROOM, "\\boxed{r\u0131ght}"),
        ("Hangman-v0-hard", GALLOWS, "\\boxed{\u017fa}"),
    ],
)
def test_letters_that_only_look_alike_are_no_action(env_id: str, hidden: Hidden, action: str) -> None:
    env = gem.make(f"game:{env_id}")
    env.set_state(to_state(f"game:{env_id}", hidden))
    _, reward, terminated, _, info = env.step(action)
    assert (reward, terminated, info["error"]) == (MALFORMED, True, "format")


def test_a_word_pays_once_from_whichever_end_it_is_marked() -> None:
    env = gem.make("game:WordSearch-v0-easy")
    env.set_state(to_state("game:WordSearch-v0-easy", LETTERS))
    rewards = [env.step(action)[1] for action in (r"\boxed{0 0 0 2}", r"\boxed{0 2 0 0}", r"\boxed{2 1 0 1}")]
    assert rewards == [0.5, 0.0, 0.5]
    assert env.unwrapped.solved
