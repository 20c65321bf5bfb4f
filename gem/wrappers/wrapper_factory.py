"""Wrappers by name, as command lines, job specifications and recorded episodes write them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from gem.core import Env
from gem.errors import InvalidArgument
from gem.registry import tool_name
from gem.tools.tool_env_wrapper import ToolEnvWrapper
from gem.validation.arguments import check_arguments, check_numbers, required_arguments
from gem.validation.near import did_you_mean
from gem.wrappers.compact_observation import CompactObservation
from gem.wrappers.describe import WRAPPER_FACTORY
from gem.wrappers.episode_tracking_wrapper import EpisodeTrackingWrapper
from gem.wrappers.normalize_action import NormalizeAction
from gem.wrappers.observation_wrapper import ChatTokenizer, ObservationWrapper
from gem.wrappers.opponent import Opponent
from gem.wrappers.record_episodes import RecordEpisodes
from gem.wrappers.rewards import ClipReward, RewardSuccess, ScaleReward
from gem.wrappers.time_limit import TimeLimit

__all__ = [
    "TOKENIZER_REQUIRED", "TOOL_WRAPPERS", "WRAPPER_FACTORY", "get_wrapper_fns", "has_tools", "names_of_tools", "wrap",
]  # fmt: skip

WrapperFn = Callable[..., Env]
NO_CHAT: dict[str, Any] = {"include_chat_template": False, "apply_chat_template_on_reset": False}
TOKENIZER_REQUIRED = ("concat_chat", "concat_chat_on_reset")
"""Wrappers that need a tokenizer, which has the chat template."""

PAID: dict[str, Any] = {"tool_reward": 0.05, "tool_success_reward": 0.25, "max_tool_uses": 5}
PAID_SEARCH: dict[str, Any] = {"tool_reward": 0.3, "tool_success_reward": 0.0, "max_tool_uses": 5}
UNPAID: dict[str, Any] = {"tool_reward": 0.0, "tool_success_reward": 0.0, "max_tool_uses": 5}
"""GEM's rewards for using tools, and none."""
_PYTHON, _SEARCH, _MCP = [{"name": "python"}], [{"name": "search"}], [{"name": "mcp"}]

WRAPPER_FACTORY |= {
    "opponent": Opponent,
    "time_limit": TimeLimit,
    "python_tool": partial(ToolEnvWrapper, tools=_PYTHON, **PAID),
    "python_tool_no_int_reward": partial(ToolEnvWrapper, tools=_PYTHON, **UNPAID),
    "python_tool_no_int_reward_last_line_error": partial(
        ToolEnvWrapper, tools=[{"name": "python", "keep_error_last_line": True}], **UNPAID
    ),
    "search_tool": partial(ToolEnvWrapper, tools=_SEARCH, **PAID_SEARCH),
    "search_tool_no_int_reward": partial(ToolEnvWrapper, tools=_SEARCH, **UNPAID),
    "mcp_tool": partial(ToolEnvWrapper, tools=_MCP, **PAID),
    "mcp_tool_no_int_reward": partial(ToolEnvWrapper, tools=_MCP, **UNPAID),
    "tools": ToolEnvWrapper,
    "normalize_action": NormalizeAction,
    "compact": CompactObservation,
    "concat": partial(ObservationWrapper, include_action=False, **NO_CHAT),
    "concat_chat": partial(ObservationWrapper, include_action=True, include_chat_template=True),
    "concat_with_action": partial(ObservationWrapper, include_action=True, **NO_CHAT),
    "concat_chat_on_reset": partial(ObservationWrapper, include_action=True, apply_chat_template_on_reset=True),
    "reward_success": RewardSuccess,
    "scale_reward": ScaleReward,
    "clip_reward": ClipReward,
    "episode_tracking": EpisodeTrackingWrapper,
    "record": RecordEpisodes,
}
"""Name to a function that wraps an environment. The order is the one in which they belong, innermost first."""

TOOL_WRAPPERS = frozenset(
    name for name, made in WRAPPER_FACTORY.items() if ToolEnvWrapper in (made, getattr(made, "func", None))
)
"""Wrappers that put tools around an environment."""


def has_tools(env_kwargs: Mapping[str, Any], wrappers: Iterable[Mapping[str, Any]]) -> bool:
    """Whether these arguments of `gem.make`, or these wrappers as plain data, put tools around an environment."""
    return "tools" in env_kwargs or any(wrapper.get("name") in TOOL_WRAPPERS for wrapper in wrappers)


def names_of_tools(env_kwargs: Mapping[str, Any], wrappers: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of the tools that these arguments of `gem.make` and these wrappers put around an environment."""
    tools = list(env_kwargs.get("tools") or ())
    for wrapper in wrappers:
        if wrapper.get("name") in TOOL_WRAPPERS:
            preset = getattr(WRAPPER_FACTORY[wrapper["name"]], "keywords", {})
            tools += wrapper.get("tools") or preset.get("tools") or ()
    return list(dict.fromkeys(map(tool_name, tools)))


def get_wrapper_fns(wrappers: str | Sequence[str], tokenizer: ChatTokenizer | None = None) -> list[WrapperFn]:
    """The wrapper functions named in `wrappers` ("concat,episode_tracking", or a list), innermost first.

    Args:
        tokenizer: for those of `TOKENIZER_REQUIRED`; without it, the functions returned have to be given one.

    A wrapper that needs arguments, such as `time_limit`, has to be given them when its function is called. `make_vec`
    takes it as plain data instead: `{"name": "time_limit", "max_turns": 20}`.

    Raises:
        InvalidArgument: on a name that the factory does not know; the nearest is named.
    """
    names = wrappers.split(",") if isinstance(wrappers, str) else wrappers
    functions = [(name.strip(), _find(name.strip())) for name in names if name.strip()]
    if tokenizer is None:
        return [function for _, function in functions]
    return [partial(f, tokenizer=tokenizer) if name in TOKENIZER_REQUIRED else f for name, f in functions]


def wrap(env: Env, wrappers: Iterable[Mapping[str, Any]]) -> Env:
    """`env` in the wrappers described as plain data, innermost first: `{"name": "time_limit", "max_turns": 20}`.

    Raises:
        InvalidArgument: on an unknown name or arguments that a wrapper does not take.
    """
    for described in [wrappers] if isinstance(wrappers, str | Mapping) else wrappers:
        if not isinstance(described, Mapping):
            raise InvalidArgument(
                f"wrap takes a list of dictionaries: [{{'name': {described!r:.60}}}]. "
                f"get_wrapper_fns({described!r:.60}) gives functions by their names."
            )
        arguments = dict(described)
        name = arguments.pop("name", "")
        check_arguments(_find(name), arguments, f"The wrapper {name!r}")
        check_complete(_find(name), arguments)
        check_numbers(_find(name), arguments)
        try:
            env = _find(name)(env, **arguments)
        except TypeError as error:
            raise InvalidArgument(f"The wrapper {name!r} does not take these arguments: {error}.") from error
    return env


def check_complete(wrapper: WrapperFn, arguments: Iterable[str] = ()) -> None:
    """Check that these are all the arguments that `wrapper` needs, if it is in the factory.

    Raises:
        InvalidArgument: if it needs others; the message shows how they are given.
    """
    name = next((name for name, made in WRAPPER_FACTORY.items() if made is wrapper), None)
    missing = [] if name is None else [needed for needed in required_arguments(wrapper) if needed not in arguments]
    if missing:
        form = ", ".join(f'"{argument}": ...' for argument in missing)
        raise InvalidArgument(f'The wrapper {name} needs {" and ".join(missing)}: {{"name": "{name}", {form}}}.')


def _find(name: str) -> WrapperFn:
    found = WRAPPER_FACTORY.get(name)
    if found is None:
        raise InvalidArgument(f"There is no wrapper {name!r}. {did_you_mean(name, WRAPPER_FACTORY)}")
    return found
