r"""Games with arguments that only some scripts give.

Prints:
    5 5
    3 3
    4
    20
"""

from gem.envs.game_env.fifteen_puzzle import FifteenPuzzleEnv
from gem.envs.game_env.sokoban.sokoban import SokobanEnv
from gem.envs.game_env.wordle import WordleEnv

import gem

env = gem.make("game:Game2048-v0", board_size=5, target_tile=256)
rows = env.reset(seed=1)[1]["suffix"].splitlines()[:-1]
print(len(rows), len(rows[0].split()))
puzzle = FifteenPuzzleEnv(max_turns=100, num_rows=3, init_algo="monte_carlo", mc_rand_moves=20)
rows = puzzle.reset(seed=1)[1]["suffix"].splitlines()[:-1]
print(len(rows), len(rows[0].split()))
print(WordleEnv(word_length=4, only_real_words=True).config.word_length)
print(SokobanEnv(max_turns=20).max_turns)
