"""The games, one file each; importing a file registers its environments. A new game adds one line here."""

from gem.envs.games import crosswords as crosswords
from gem.envs.games import fifteen_puzzle as fifteen_puzzle
from gem.envs.games import game_2048 as game_2048
from gem.envs.games import guess_the_number as guess_the_number
from gem.envs.games import hangman as hangman
from gem.envs.games import mastermind as mastermind
from gem.envs.games import minesweeper as minesweeper
from gem.envs.games import sokoban as sokoban
from gem.envs.games import sudoku as sudoku
from gem.envs.games import tower_of_hanoi as tower_of_hanoi
from gem.envs.games import wiki_game as wiki_game
from gem.envs.games import word_search as word_search
from gem.envs.games import wordle as wordle
