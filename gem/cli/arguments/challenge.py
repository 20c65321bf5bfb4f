"""`gemweb eval --challenge FILE`: play the seeds that a site has drawn, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gem
from gem.errors import UsageError

if TYPE_CHECKING:
    from gem.evaluation.spec import EvaluationSpec
    from gem.rollout import EpisodeRequest
    from gem.verification.challenges import Challenge

DECIDED = (
    "episodes_per_env", "seed", "repeats", "max_turns", "opponent", "token_budget", "money_budget",
    "turn_budget", "max_episode_tokens", "max_episode_money", "wrappers", "tools", "max_tool_uses", "tool_format",
)  # fmt: skip
"""Fields of an evaluation that a challenge decides."""
MAX_BYTES = 50_000_000


def read(path: Path) -> Challenge:
    """Read the file of a challenge.

    Raises:
        UsageError: if it cannot be read, or is none.
    """
    from gem.verification import challenges  # noqa: PLC0415 (the other commands start faster without it)

    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes, so it is not a challenge.")
        return challenges.read(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error


def spec_fields(challenge: Challenge, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of the evaluation that plays a challenge.

    Raises:
        UsageError: if an option was chosen that the challenge decides, or an environment has another version here.
    """
    taken = [name for name in DECIDED if chosen.get(name) is not None]
    if taken:
        raise UsageError(f"The challenge decides {taken[0]}; leave it out.")
    for environment in challenge.environments:
        version = gem.spec(environment.env_id).version
        if version != environment.version:
            raise UsageError(
                f"The challenge has version {environment.version} of {environment.env_id}, and here it has version "
                f"{version}. Use the version of gemweb that {challenge.site} has."
            )
    offered = [dict(each) for each in challenge.wrappers if each.get("name") != "tools"]
    fields: dict[str, Any] = {"env_ids": [each.env_id for each in challenge.environments], "wrappers": offered or None}
    if challenge.tools:
        fields |= {
            "tools": challenge.tools,
            "max_tool_uses": challenge.max_tool_uses,
            "tool_format": challenge.tool_format,
        }
    return fields


def requests(challenge: Challenge, spec: EvaluationSpec) -> list[EpisodeRequest]:
    """Return a request for each episode of the challenge.

    Raises:
        UsageError: if this engine puts other wrappers around the environments than the one that has drawn it.
    """
    from gem.rollout import EpisodeRequest  # noqa: PLC0415 (as above)

    if spec.all_wrappers != [dict(each) for each in challenge.wrappers]:
        raise UsageError(
            "The wrappers of this challenge are made differently here. Use the version of gemweb that "
            f"{challenge.site} has."
        )
    planned = map(challenge.planned, range(challenge.episodes))
    return [
        EpisodeRequest(index, each.env_id, each.seed, {}, spec.all_wrappers, each.seat)
        for index, each in enumerate(planned)
        if each is not None
    ]
