"""Tapes: the recorded outputs of tools, and which of them can be computed again.

Tools that always repeat are called again by `gem.replay.verify`. Programs in the sandbox repeat unless they read a
clock or draw random numbers: they are run here, and where the output differs from the record, once more. Two equal
outputs show that the record has another one; two different ones, that the program does not repeat.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from gem.core import Env, EnvWrapper
from gem.records import EpisodeRecord
from gem.replay import Difference
from gem.tools.tool import BaseTool, ToolOutput
from gem.tools.tool_env_wrapper import ToolEnvWrapper
from gem.vector.mixture import MixtureEnv

UNSURE_STATUSES = frozenset({"timeout", "memory", "killed"})
"""How programs end whose output depends on the speed and the size of the machine."""


class TapeResult(NamedTuple):
    """What was found about the tape of an episode."""

    difference: Difference | None
    unrepeated: tuple[str, ...]
    """The names of the tools, or other sources, of which an output was taken from the record."""


def check_tape(env: Env, record: EpisodeRecord) -> TapeResult:
    """Check the recorded outputs of tools that `gem.replay.verify` has taken from the record."""
    unrepeated: set[str] = set(env.unwrapped.unrepeated)
    for wrapper in tool_wrappers(env):
        if wrapper.is_repeatable:
            continue
        tools = {tool.name: tool for tool in wrapper.tools}
        for number, info in enumerate(record.infos):
            for call in _calls(info):
                name = str(call.get("tool") or call.get("function") or "")
                tool = tools.get(name)
                if tool is None and call.get("tool"):
                    return TapeResult(Difference(number, "tape", name, "no such tool"), ())
                if tool is None or not (tool.repeatable or tool.usually_repeats):
                    unrepeated.add(name or "a tool")
                elif tool.usually_repeats:
                    output = _repeated(wrapper, tool, call)
                    if output is None:
                        unrepeated.add(name)
                    elif output != call.get("output"):
                        return TapeResult(Difference(number, "tape", call.get("output"), output), ())
    return TapeResult(None, tuple(sorted(unrepeated)))


def tool_wrappers(env: Env) -> Iterator[ToolEnvWrapper]:
    """Yield the wrappers of an environment that add tools, outermost first; of a mixture also those of its part."""
    while isinstance(env, EnvWrapper | MixtureEnv):
        if isinstance(env, ToolEnvWrapper):
            yield env
        if isinstance(env, MixtureEnv) and env.seed is None:
            return  # there has been no episode, so no part is drawn
        env = env.current if isinstance(env, MixtureEnv) else env.env


def _calls(info: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    calls = info.get("tool_calls")
    return [call for call in calls if isinstance(call, Mapping)] if isinstance(calls, list) else []


def _repeated(wrapper: ToolEnvWrapper, tool: BaseTool, call: Mapping[str, Any]) -> str | None:
    """Return the output of a call; None if it does not repeat, or cannot be repeated here."""
    arguments = call.get("arguments")
    if not isinstance(arguments, Mapping):
        return None
    first = _call(tool, call, arguments)
    text = wrapper.truncate(first.text)
    if text == call.get("output"):
        return text
    if first.details.get("status") in UNSURE_STATUSES or not first.details:
        return None
    return text if wrapper.truncate(_call(tool, call, arguments).text) == text else None


def _call(tool: BaseTool, call: Mapping[str, Any], arguments: Mapping[str, Any]) -> ToolOutput:
    return tool.call(str(call.get("function", "")), arguments)
