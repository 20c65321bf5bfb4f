"""Registers a game for two seats: for two players, against the random agent and against the expert."""

from __future__ import annotations

from typing import Any

from gem.envs.multiagent import MultiAgentEnv
from gem.registry import register


def register_duel(name: str, cls: type[MultiAgentEnv], **kwargs: Any) -> None:
    """Register `duel:<name>-v0` with all seats, and `-vs-random` and `-vs-expert`, where an agent plays the other seat.

    Against an agent the player's seat is drawn for each episode from its seed, so that both seats are equally common.
    """
    register(f"duel:{name}-v0", cls, cost="fast", seats=cls.num_seats, **kwargs)
    for opponent in ("random", "expert"):
        register(f"duel:{name}-v0-vs-{opponent}", cls, cost="fast", opponent=opponent, **kwargs)
