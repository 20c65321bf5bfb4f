"""The games under the names of GEM's classes and with their defaults, for scripts that make them without an id.

`from gem.envs.game_env.wordle import WordleEnv` and `register(..., "gem.envs.game_env.sudoku:SudokuEnv")` import these
classes (see `gem.compat.aliases`). The rules are those of our games. All arguments are keyword arguments.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from gem.envs.games.crosswords import Crosswords
from gem.envs.games.fifteen_puzzle import FifteenPuzzle, InitAlgo
from gem.envs.games.game_2048 import Game2048
from gem.envs.games.guess_the_number import GuessTheNumber as GuessTheNumberEnv
from gem.envs.games.hangman import Hangman
from gem.envs.games.mastermind import Mastermind
from gem.envs.games.minesweeper import Minesweeper
from gem.envs.games.sokoban import Sokoban
from gem.envs.games.sudoku import Sudoku
from gem.envs.games.tower_of_hanoi import TowerOfHanoi
from gem.envs.games.wiki_game import WikiGame as WikiGameEnv
from gem.envs.games.word_search import WordSearch as WordSearchEnv
from gem.envs.games.wordle import Wordle
from gem.envs.shop.pages import Mode
from gem.envs.shop.web_shop import WebShop
from gem.errors import InvalidArgument

__all__ = [
    "CrosswordsEnv",
    "FifteenPuzzleEnv",
    "Game2048Env",
    "GuessTheNumberEnv",
    "HangmanEnv",
    "MastermindEnv",
    "MinesweeperEnv",
    "SokobanEnv",
    "SudokuEnv",
    "TowerofHanoiEnv",
    "WebshopEnv",
    "WikiGameEnv",
    "WordSearchEnv",
    "WordleEnv",
]

Setting = int | None
"""A number, or None for one that is drawn in every episode, as in the ids that end in -random."""


class CrosswordsEnv(Crosswords):
    """Five words in 100 turns."""

    def __init__(
        self,
        *,
        hardcore: bool | None = False,
        max_turns: Setting = 100,
        num_words: Setting = 5,
        seed: int | None = None,
    ) -> None:
        super().__init__(hardcore, max_turns, num_words, seed)


class FifteenPuzzleEnv(FifteenPuzzle):
    """Two rows in 20 turns."""

    def __init__(
        self,
        *,
        max_turns: Setting = 20,
        num_rows: Setting = 2,
        init_algo: InitAlgo | None = None,
        mc_rand_moves: int = 100,
        seed: int | None = None,
    ) -> None:
        super().__init__(num_rows, max_turns, init_algo, mc_rand_moves, seed)


class Game2048Env(Game2048):
    """2048 in 1,000 turns, on four rows and columns."""

    def __init__(
        self,
        *,
        target_tile: Setting = 2048,
        max_turns: Setting = 1000,
        board_size: int = 4,
        seed: int | None = None,
    ) -> None:
        super().__init__(target_tile, max_turns, board_size, seed)


class HangmanEnv(Hangman):
    """Five letters in 20 turns."""

    def __init__(
        self, *, word_length: Setting = 5, hardcore: bool = False, max_turns: Setting = 20, seed: int | None = None
    ) -> None:
        super().__init__(word_length, max_turns, hardcore, seed)


class MastermindEnv(Mastermind):
    """Four places in 20 turns."""

    def __init__(
        self,
        *,
        code_length: Setting = 4,
        num_numbers: Setting = 6,
        duplicate_numbers: bool = False,
        max_turns: Setting = 20,
        seed: int | None = None,
    ) -> None:
        super().__init__(code_length, num_numbers, max_turns, duplicate_numbers, seed)


class MinesweeperEnv(Minesweeper):
    """Ten mines on eight rows and columns, in 20 turns."""

    def __init__(
        self,
        *,
        rows: Setting = 8,
        cols: Setting = 8,
        num_mines: Setting = 10,
        max_turns: Setting = 20,
        seed: int | None = None,
    ) -> None:
        super().__init__(rows, cols, num_mines, max_turns, seed)


class SokobanEnv(Sokoban):
    """Two boxes in six rows and columns, walls included, in 100 turns; GEM's three do not fit (see `Sokoban`)."""

    def __init__(
        self,
        *,
        dim_room: Sequence[int] | None = (6, 6),
        max_turns: Setting = 100,
        num_boxes: Setting = 2,
        seed: int | None = None,
    ) -> None:
        super().__init__(dim_room, num_boxes, max_turns, seed)


class SudokuEnv(Sudoku):
    """Nine rows and columns with 30 clues, in 100 turns."""

    def __init__(
        self, *, clues: Setting = 30, max_turns: Setting = 100, scale: Setting = 9, seed: int | None = None
    ) -> None:
        super().__init__(clues, max_turns, scale, seed)


class TowerofHanoiEnv(TowerOfHanoi):
    """Three disks in 100 turns."""

    def __init__(self, *, num_disks: Setting = 3, max_turns: Setting = 100, seed: int | None = None) -> None:
        super().__init__(num_disks, max_turns, seed)


class WordleEnv(Wordle):
    """Five letters in 20 turns."""

    def __init__(
        self,
        *,
        word_length: Setting = 5,
        only_real_words: bool | None = True,
        max_turns: Setting = 20,
        seed: int | None = None,
    ) -> None:
        super().__init__(word_length, max_turns, seed)


class WebshopEnv(WebShop):
    """The web shop in 15 turns; both splits of GEM's have the same products here, and `train` the easier goals."""

    def __init__(
        self,
        *,
        observation_mode: Mode = "text",
        split: Literal["train", "test"] = "train",
        max_turns: int = 15,
        seed: int | None = None,
    ) -> None:
        if split not in ("train", "test"):
            raise InvalidArgument(f"split must be train or test, not {split!r:.40}.")
        super().__init__(split == "test", max_turns, observation_mode, seed=seed)
