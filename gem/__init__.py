"""gem: environments for language-model agents, with one contract (see `gem.core`).

import gem

env = gem.make("game:GuessTheNumber-v0-easy")
obs, info = env.reset(seed=7)
obs, reward, terminated, truncated, info = env.step("\\boxed{5}")
"""

from gem import envs as envs
from gem.core import Env, EnvWrapper
from gem.registry import make, print_envs, register, spec
from gem.vector.make import make_vec

__version__ = "0.1.0"
__all__ = ["Env", "EnvWrapper", "make", "make_vec", "print_envs", "register", "spec"]
