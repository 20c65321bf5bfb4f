"""Episodes with several seats: the observation, reward and success of each seat, read from what `step` returns.

The observation of an environment with several seats is public. What a single seat may read is in
`info["seats"][seat]`, a dictionary with its `observation` (everything since the seat last acted), `suffix`, `reward`,
possibly `error`, and at the end of the episode `success`. The functions here also take what environments with one seat
return.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SPECTATOR = -1
"""The value of `seat` in `Env.view` for somebody who only watches: what is hidden from any seat is not shown."""

Info = dict[str, Any]


def observation_for_seat(seat: int, observation: str, info: Info) -> tuple[str, Info]:
    """Return the observation and info of `seat`, without what only other seats may read."""
    if "seats" not in info:
        return observation, info
    seat_info = dict(info["seats"][seat])
    return seat_info.pop("observation"), seat_info


def rewards(reward: float, info: Info) -> list[float]:
    """Return the reward of each seat for the turn."""
    return [seat_info["reward"] for seat_info in info["seats"]] if "seats" in info else [reward]


def success(seat: int, info: Info) -> bool:
    """Whether the episode that ended with `info` is a success for `seat`."""
    seat_info = info["seats"][seat] if "seats" in info else info
    return bool(seat_info.get("success", False))


def with_success(info: Info, successes: Sequence[bool]) -> Info:
    """Return the last info of an episode with the success of each seat; that of the episode is the first seat's."""
    final_info = {**info, "success": successes[0]}
    if "seats" in info:
        pairs = zip(info["seats"], successes, strict=True)
        final_info["seats"] = [{**seat_info, "success": is_success} for seat_info, is_success in pairs]
    return final_info
