"""A web shop; importing this package registers its environments. Begin reading at `web_shop`.

`web_shop` itself is only imported when an environment is made.
"""

from gem.registry import register

_CLASS = "gem.envs.shop.web_shop:WebShop"

register("shop:WebShop-v0", _CLASS, cost="fast")
register("shop:WebShop-v0-easy", _CLASS, cost="fast", hard=False, max_turns=20)
register("shop:WebShop-v0-hard", _CLASS, cost="fast", hard=True, max_turns=30)
