"""Games for two seats, one file each; importing a file registers its environments. A new game adds one line here."""

from gem.envs.duels import tic_tac_toe as tic_tac_toe
