r"""An episode with random actions, chosen before and after `reset`, as the page on the playground shows.

Prints:
    a number before reset
    4 turns
    4 at most
"""

import gem

env = gem.make("game:GuessTheNumber-v0-easy")
print("a number before reset" if env.sample_random_action().startswith("\\boxed{") else "nothing before reset")
limit = env.max_turns
observation, info = env.reset(seed=3)
done, turns = False, 0
while not done:
    observation, reward, terminated, truncated, info = env.step("\\boxed{99}")
    turns, done = turns + 1, terminated or truncated
print(f"{turns} turns")
print(f"{limit} at most")
