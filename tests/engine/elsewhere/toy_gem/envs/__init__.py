"""Registers the classes of `toys`; with TOYS in the environment only some of them, separated by commas."""

import os

from . import toys
from .registration import register

chosen = os.environ.get("TOYS", "").split(",")
for name, cls in vars(toys).items():
    if isinstance(cls, type) and cls.__module__ == toys.__name__ and (name in chosen or chosen == [""]):
        register(f"toy:{name}-v0", cls, **cls.registered)
register("toy:Data-v0", toys.Good, dataset_name="someone/something")
