"""Checks of the arguments of `gem.tools.ToolEnvWrapper` that are numbers."""

from __future__ import annotations

from gem.errors import InvalidArgument


def check_tool_rewards(call: float, success: float, error: float) -> None:
    """Check the rewards for a well-formed call, for one that succeeds, and for one that fails.

    Raises:
        InvalidArgument: if `error` is above 0, or is combined with one of the others.
    """
    if error > 0 or (error and (call or success)):
        raise InvalidArgument(
            "tool_execute_error_reward is below 0, and then tool_reward and tool_success_reward are 0."
        )


def check_limits(max_tool_uses: int | None, max_output: int) -> None:
    """Check how often tools may be used, and how many characters of an output are kept.

    Raises:
        InvalidArgument: if one of them is impossible.
    """
    if max_tool_uses is not None and max_tool_uses < -1:
        raise InvalidArgument(f"max_tool_uses is 0 or more, or None for any number, not {max_tool_uses}.")
    if max_output < 1:
        raise InvalidArgument(f"max_output must be at least 1, not {max_output}.")
