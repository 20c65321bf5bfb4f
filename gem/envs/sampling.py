"""A random action before the first episode, which scripts written for GEM draw."""

from __future__ import annotations

from contextlib import closing

from gem.core import Env


def sample_before_reset(env: Env, number: int) -> str:
    """A random action of the episode with the seed `number`, which an equal environment begins."""
    with closing(env.spawn()) as example:
        example.reset(seed=number)
        return example.sample_random_action()
