r"""A dataset environment and a class of the script's own, registered by path and by class.

Prints:
    1.0 True
    abc
    1.0 True
"""

from gem.envs.registration import register
from gem.utils.constants import TERMINAL_STATE
from gem.utils.parsing import extract_last_boxed_answer

import gem
from gem.core import Env

ROWS = [{"problem": "1 + 1?", "answer": "2"}]
register("math:Script-Example", "gem.envs.math_env:MathEnv", dataset=ROWS, question_key="problem", answer_key="answer")
env = gem.make("math:Script-Example", use_mp=False)
env.reset()
_, reward, terminated, _, _ = env.step("It is \\boxed{2}.")
print(reward, terminated)


class ReverseString(Env):
    def __init__(self, word: str = "abc", **_):
        super().__init__()
        self.word = word

    def reset(self, seed=None):
        super().reset(seed)
        return f"Reverse {self.word}.", {}

    def step(self, action):
        reward = float(extract_last_boxed_answer(action) == self.word[::-1])
        return TERMINAL_STATE, reward, True, True, {}


register("game:Script-ReverseString", ReverseString)
env = gem.make("game:Script-ReverseString")
observation, _ = env.reset()
print(observation.split()[1].rstrip("."))
_, reward, terminated, _, _ = env.step("\\boxed{cba}")
print(reward, terminated)
