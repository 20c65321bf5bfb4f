"""The games, one file each; importing a file registers its environments. A new game adds one line here."""

from gem.envs.games import guess_the_number as guess_the_number
from gem.envs.games import minesweeper as minesweeper
from gem.envs.games import sokoban as sokoban
