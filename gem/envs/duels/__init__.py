"""Games for two seats, one file each; importing a file registers its environments. A new game adds one line here.

Begin reading at `tic_tac_toe`, and see `gem.envs.multiagent` for what the games share.
"""

from gem.envs.duels import connect_four as connect_four
from gem.envs.duels import kuhn_poker as kuhn_poker
from gem.envs.duels import negotiation as negotiation
from gem.envs.duels import prisoners_dilemma as prisoners_dilemma
from gem.envs.duels import tic_tac_toe as tic_tac_toe
