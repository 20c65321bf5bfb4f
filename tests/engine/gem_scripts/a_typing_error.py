r"""A misspelled argument is refused, which GEM takes silently.

Prints:
    MathEnv takes no argument 'verbos'. Did you mean verbose?
    game:Sokoban-v0 takes no argument 'verbose'.
"""

from gem.envs.math_env import MathEnv

import gem

try:
    MathEnv(dataset=[{"problem": "1", "answer": "1"}], verbos=True)
except ValueError as error:
    print(error)
try:
    gem.make("game:Sokoban-v0", verbose=True)
except ValueError as error:
    print(str(error).split(" It takes")[0].split(" Did")[0])
