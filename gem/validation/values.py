"""Checks of what goes into an environment and comes out of it: actions, seeds, steps and rewards."""

from __future__ import annotations

import math
import operator
import reprlib
from typing import Any

from gem.errors import EnvironmentFailure, InvalidArgument

MAX_SEED = 2**63 - 1


def check_action(action: object) -> str:
    """Return `action` if it is a string.

    Raises:
        InvalidArgument: if it is not.
    """
    if not isinstance(action, str):
        raise InvalidArgument(f"An action must be a string, not {type(action).__name__}: {reprlib.repr(action)}.")
    return action


def check_step(step: tuple[str, float, bool, bool, dict[str, Any]]) -> tuple[str, float, bool, bool, dict[str, Any]]:
    """Check what `Env.step` returned before it is recorded, and return it with the reward as a float.

    Raises:
        EnvironmentFailure: if the observation is not a string or the reward not a finite number.
    """
    observation, reward, terminated, truncated, info = step
    if not isinstance(observation, str):
        raise EnvironmentFailure(f"The observation is not a string: {reprlib.repr(observation)}.")
    return observation, check_reward(reward), terminated, truncated, info


def check_reward(reward: object) -> float:
    """Return `reward` as a float if it is a finite number of any kind, a NumPy scalar or array of one element included.

    Raises:
        EnvironmentFailure: if it is something else, such as a string of digits or NaN.
    """
    try:
        if isinstance(reward, str | bytes | bytearray):
            raise TypeError
        number = float(reward)  # type: ignore[arg-type]  # the exceptions below catch what float() refuses
        if not math.isfinite(number):
            raise ValueError
        return number
    except (TypeError, ValueError, OverflowError):
        raise EnvironmentFailure(f"The reward is not a finite number: {reprlib.repr(reward)}.") from None


def plain_value(value: object) -> object:
    """Return the Python value of a NumPy scalar or array, or of a tensor, as the `default` of `json.dumps`.

    Raises:
        TypeError: if it is something else.
    """
    convert = getattr(value, "tolist", None)
    if not callable(convert):
        raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")
    return convert()


def check_seed(seed: object) -> int:
    """Return `seed` as an int.

    Raises:
        InvalidArgument: if it is not an integer from 0 to 2**63 - 1.
    """
    try:  # operator.index accepts NumPy's integers as well
        number = -1 if isinstance(seed, bool) else operator.index(seed)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not 0 <= number <= MAX_SEED:
        raise InvalidArgument(f"A seed is an integer from 0 to 2**63 - 1, not {seed!r}.")
    return number
