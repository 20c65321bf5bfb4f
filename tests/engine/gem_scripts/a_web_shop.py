r"""The web shop under GEM's ids.

Prints:
    shop:WebShop-v0-hard
    15
    shop:WebShop-v0-easy
"""

from gem.envs.webshop.webshop import WebshopEnv

import gem

env = gem.make("webshop:test-text_rich")
env.reset(seed=1)
print(env.spec.id)
print(WebshopEnv(observation_mode="html", split="train").max_turns)
print(gem.make_vec(["webshop:train-html"] * 2).envs[0].spec.id)
