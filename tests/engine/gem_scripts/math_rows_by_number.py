r"""Rows chosen by number, the penalty for an answer without a box, and copies of an episode.

Prints:
    second
    -0.1
    second
    False
"""

from gem.envs.math_env import MathEnv

rows = [{"problem": name, "answer": "1"} for name in ("first", "second")]
env = MathEnv(dataset_name="only a name", dataset=rows, use_format_error_reward=True)
observation, _ = env.reset(idx=1)
print(observation)
copy = env.spawn(True)
_, reward, *_ = env.step("one")
print(reward)
print(copy.question)
print(env.spawn(seed=3) is env)
