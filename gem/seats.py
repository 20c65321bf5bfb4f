"""Episodes with several seats: what each seat reads, earns and reached, from the answer of `step`.

The observation of an environment with several seats is public: everybody may read it. What a seat alone reads is in
`info["seats"][seat]`: its `observation` (all it has to read since it last acted), `suffix`, `reward`, where present
`error`, and at the end `success`. These functions also take the answers of environments with one seat.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

SPECTATOR = -1
"""The seat of whoever watches, for `Env.view`: nothing that is hidden from any seat is shown."""

Info = dict[str, Any]


def observation_for_seat(seat: int, observation: str, info: Info) -> tuple[str, Info]:
    """What `seat` reads of an answer: its observation, and its info without what the other seats read."""
    if "seats" not in info:
        return observation, info
    own = dict(info["seats"][seat])
    return own.pop("observation"), own


def rewards(reward: float, info: Info) -> list[float]:
    """What the turn earned each seat."""
    return [one["reward"] for one in info["seats"]] if "seats" in info else [reward]


def success(seat: int, info: Info) -> bool:
    """Whether the episode that ended with `info` is a success for `seat`."""
    own = info["seats"][seat] if "seats" in info else info
    return bool(own.get("success", False))


def with_success(info: Info, successes: Sequence[bool]) -> Info:
    """`info` at an end that was a success for those seats; for the episode counts what the first seat reached."""
    ended = {**info, "success": successes[0]}
    if "seats" in info:
        pairs = zip(info["seats"], successes, strict=True)
        ended["seats"] = [{**one, "success": reached} for one, reached in pairs]
    return ended
