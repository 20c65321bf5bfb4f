r"""A vector of different games with histories, stepped in part, and printed; an episode that is awaited.

Prints:
    3
    True
    Turn 2
    Turn 1
"""

import asyncio
import contextlib
import io

from gem.utils.debug import (
    run_and_print_episode,
    run_and_print_episode_async,
    run_and_print_episode_with_random_selection,
)

import gem
from gem.wrappers.wrapper_factory import WRAPPER_FACTORY

ids = ["game:GuessTheNumber-v0-easy", "game:Sokoban-v0-easy", "game:Game2048-v0-easy"]
envs = gem.make_vec(ids, wrappers=[WRAPPER_FACTORY["concat"]], max_turns=3, async_mode=True)
print(envs.num_envs)
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    run_and_print_episode_with_random_selection(
        envs, lambda _: [env.env.sample_random_action() for env in envs.envs], ignore_done=True, max_steps=5
    )
print("Turn 5" in printed.getvalue())
printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    env = gem.make(ids[0], max_turns=2, seed=1)
    run_and_print_episode(env, lambda _: "\\boxed{99}")
print([line for line in printed.getvalue().splitlines() if line.startswith("Turn")][-1])


class Awaited:
    async def reset(self):
        return env.reset(seed=2)

    async def step(self, action):
        return env.step(action)


printed = io.StringIO()
with contextlib.redirect_stdout(printed):
    asyncio.run(run_and_print_episode_async(Awaited(), lambda _: "nothing"))
print([line for line in printed.getvalue().splitlines() if line.startswith("Turn")][-1])
