"""A web shop to buy in; importing it registers its environments."""

from gem.envs.shop import web_shop as web_shop
