"""A web shop to buy in; importing it registers its environments, whose module is imported when one is made."""

from gem.registry import register

_CLASS = "gem.envs.shop.web_shop:WebShop"

register("shop:WebShop-v0", _CLASS)
register("shop:WebShop-v0-easy", _CLASS, hard=False, max_turns=20)
register("shop:WebShop-v0-hard", _CLASS, hard=True, max_turns=30)
