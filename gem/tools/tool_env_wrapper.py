"""Tools around any environment: an action that asks for one is answered by it, any other goes to the environment."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, cast

from gem.core import Env, EnvWrapper, Info, State, Step, check_action
from gem.errors import EnvironmentFailure, InvalidArgument, ToolError, VersionChanged
from gem.tools import prompts
from gem.tools.calls import find_calls
from gem.tools.kinds import Described, describe_tool, make_tool
from gem.tools.schema import Function
from gem.tools.tape import Tape
from gem.tools.tool import BaseTool, Call, Output, Used, is_opaque
from gem.views import View

logger = logging.getLogger(__name__)

Format = Literal["tags", "native"]

MOST_CALLS = 16
"""Calls in one action that are carried out."""
MAX_OUTPUT = 16_000
"""Characters of a tool's output that are kept."""
NO_TOOLS = "The episode cannot begin without its tools:"


@dataclass(frozen=True, slots=True)
class _Answer:
    """What tools made of an action."""

    end: int
    """Where in the action the last call ends."""
    told: str
    """What the agent reads."""
    used: list[Used]

    @property
    def first(self) -> str:
        """The tool that was used first."""
        return self.used[0].tool


class ToolEnvWrapper(EnvWrapper):
    """Lets an agent use tools between its actions.

    A turn that asks for a tool is answered by it: the environment does not see it, and the episode goes on whatever
    the tool does. `info["tool_calls"]` has what was asked and what came back, `info["parsed_action"]` the action up to
    the call. All other turns are the environment's. Once `max_tool_uses` are used up, every action goes to it.

    With `format="tags"` (GEM's) each tool is asked for by its own tags, and the first complete call in an action
    counts. With `format="native"` agents are shown the tools as functions, and call them as `gem.tools.calls` reads it;
    several calls in one action are all answered.

    An episode is replayed from its record without using the tools (see `Env.feed_tape`); those that are `repeatable`
    are asked again where a record is verified.

    Args:
        tools: tools, or their names and arguments (see `gem.tools.kinds`).
        tool_reward: for asking for a tool in a way that can be understood.
        tool_success_reward: besides, if it does what it was asked.
        max_tool_uses: in an episode; None (or -1) for any number.
        format: how tools are asked for.
        max_output: characters of an output that are kept; the agent is told how many are missing.
        added_by_make: whether `gem.make` put it here, so that the environment's own arguments say so.

    Raises:
        InvalidArgument: if there are no tools or two of one name, the environment has several seats, a tool cannot be
            called in this format, or `max_tool_uses` or `max_output` is impossible.
    """

    def __init__(
        self,
        env: Env,
        tools: Sequence[Described],
        tool_reward: float = 0.0,
        tool_success_reward: float = 0.0,
        max_tool_uses: int | None = 10,
        format: Format = "tags",  # noqa: A002 (what it is called everywhere)
        max_output: int = MAX_OUTPUT,
        *,
        added_by_make: bool = False,
    ) -> None:
        super().__init__(env)
        if isinstance(tools, str):
            raise InvalidArgument(f"Tools are a list: tools=[{tools!r:.60}].")
        self.tools: list[BaseTool] = [make_tool(tool) for tool in tools]
        _check(env, self.tools, format, max_tool_uses, max_output)
        self.tool_reward, self.tool_success_reward = tool_reward, tool_success_reward
        self.max_tool_uses = None if max_tool_uses in (None, -1) else max_tool_uses
        self.format, self.max_output, self.added_by_make = format, max_output, added_by_make
        self.tool_use_counter = 0
        self.tool_success_counter = 0
        self._over = True
        self._suffix: Any = None
        """What the environment asked last; an agent has to read it after a tool's answer as well."""
        self._tape: Tape | None = None

    # ------------------------------------------------------------------ what there is

    @property
    def max_turns(self) -> int:  # type: ignore[override]  # here it follows from two limits
        """The environment's own turns and those that tools may take; 0 if one of them has no limit."""
        if self.max_tool_uses is None or not self.env.max_turns:
            return 0
        return self.env.max_turns + self.max_tool_uses

    @property
    def tool_schemas(self) -> list[Function]:
        """The functions that may be called, as OpenAI's `tools`; empty unless the format is native."""
        return [one for tool in self.tools for one in tool.functions()] if self.format == "native" else []

    @property
    def described_tools(self) -> list[Described]:
        """The tools as plain data, where they have names in `gem.tools.kinds.TOOLS`."""
        return [describe_tool(tool) for tool in self.tools]

    @property
    def tool_uses_left(self) -> int | None:
        """How often tools may still be used in this episode; None for any number."""
        return None if self.max_tool_uses is None else max(0, self.max_tool_uses - self.tool_use_counter)

    def asks_for_tool(self, action: str) -> bool:
        """Whether a tool would answer this action."""
        if self.tool_uses_left == 0:
            return False
        if self.format == "native":
            return bool(find_calls(action))
        return any(is_opaque(tool) or tool.find(action) for tool in self.tools)

    def view(self, seat: int = 0) -> View:
        """As `Env.view`, with the number of tool uses beside it."""
        view: Any = self.env.view(seat)
        used = str(self.tool_use_counter)
        if self.max_tool_uses is not None:
            used += f" of {self.max_tool_uses}"
        shown: Any = {**view, "facts": [*view.get("facts", ()), ("Tool uses", used)]}
        return cast("View", shown)

    # ------------------------------------------------------------------ turns

    def prepare_tools(self, seconds: float) -> None:
        """Ask beforehand what the tools have to ask elsewhere; optional, for who cannot wait in `reset`.

        Raises:
            EnvironmentFailure: if a tool cannot be used, or that is not known within `seconds`.
        """
        until = time.monotonic() + seconds
        try:
            for tool in self.tools:
                if not is_opaque(tool):
                    tool.prepare(max(0.0, until - time.monotonic()))
        except ToolError as error:
            raise EnvironmentFailure(f"{NO_TOOLS} {error}") from error

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """As `Env.reset`; the tools are described after the environment's first words.

        Raises:
            EnvironmentFailure: if a tool cannot be used.
        """
        tape, self._tape = self._tape, None
        before = {
            "prev_ep_tool_use_counter": self.tool_use_counter,
            "prev_ep_tool_success_counter": self.tool_success_counter,
        }
        self.tool_use_counter = self.tool_success_counter = 0
        observation, info = self.env.reset(seed=seed)
        self._over, self._suffix = False, info.get("suffix")
        info = {**info, **self._counters(), **before, "use_tool": False}
        from_outside = any(tool.told_from_outside for tool in self.tools)
        if tape and from_outside:
            told = tape.instructions or prompts.NOT_RECORDED
        else:
            told = self._instructions(live=tape is None)
        if from_outside:
            info["tool_instructions"] = told
        return f"{observation}\n{told}", info

    def _instructions(self, *, live: bool) -> str:
        try:
            if live:
                for tool in self.tools:
                    tool.reset()
            return prompts.instructions(self.tools, self.tool_schemas, self.max_tool_uses)
        except ToolError as error:
            raise EnvironmentFailure(f"{NO_TOOLS} {error}") from error

    def step(self, action: str) -> Step:
        """As `Env.step`; a turn that asks for a tool is answered by it."""
        check_action(action)
        tape, self._tape = self._tape, None
        if not self._over and self.tool_uses_left != 0:
            answer = self._native(action, tape) if self.format == "native" else self._tagged(action, tape)
            if answer is not None:
                return self._after_tools(action, answer)
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._over, self._suffix = terminated or truncated, info.get("suffix")
        return observation, reward, terminated, truncated, {**info, **self._counters(), "use_tool": False}

    def _after_tools(self, action: str, answer: _Answer) -> Step:
        """The turn that tools answered."""
        reward = 0.0
        for one in answer.used:
            self.tool_use_counter += 1
            self.tool_success_counter += not one.error
            reward += self.tool_reward * bool(one.tool) + self.tool_success_reward * (not one.error)
        info: Info = {
            "parsed_action": action[: answer.end],
            "tool_type": next((tool.tool_type or tool.name for tool in self.tools if tool.label == answer.first), ""),
            "tool_calls": [one.as_record() for one in answer.used],
            **self._counters(),
            "use_tool": True,
        }
        if self._suffix is not None:
            info["suffix"] = self._suffix
        if not any(one.tool for one in answer.used):
            info["error"] = "format"
        told = f"{answer.told}\n{prompts.LAST_USE}" if self.tool_uses_left == 0 else answer.told
        return told, reward, False, False, info

    # ------------------------------------------------------------------ finding calls and carrying them out

    def _native(self, action: str, tape: Tape | None) -> _Answer | None:
        calls = find_calls(action)
        if not calls:
            return None
        left = MOST_CALLS if self.tool_uses_left is None else min(MOST_CALLS, self.tool_uses_left)
        used = [self._use(None, call, tape) for call in calls[:left]]
        outputs = [one.output for one in used] + [prompts.NOT_RUN] * len(calls[left:])
        told = "\n".join(f"<tool_response>\n{output}\n</tool_response>" for output in outputs)
        return _Answer(calls[-1].end, told, used)

    def _tagged(self, action: str, tape: Tape | None) -> _Answer | None:
        found = [(call.end, tool, call) for tool in self.tools if not is_opaque(tool) and (call := tool.find(action))]
        if found:
            end, tool, call = min(found, key=lambda one: one[0])
            used = self._use(tool, call, tape)
            return _Answer(end, tool.told(used.output), [used])
        answers = (self._opaque(tool, action, tape) for tool in self.tools if is_opaque(tool))
        return next((answer for answer in answers if answer), None)

    def _use(self, tool: BaseTool | None, call: Call, tape: Tape | None) -> Used:
        """Carry out a call, or take what the tape has of it; without a tool, it is looked up by the function."""
        arguments = copy.deepcopy(dict(call.arguments))
        recorded = tape and tape.next(call.function, arguments)
        if tape and recorded and not call.fault:
            tool = tool or self._tool_of(call, (one for one in self.tools if one.repeatable))
            if not (tape.repeat and tool and tool.repeatable and recorded.tool):
                return recorded
        start = time.perf_counter()
        name, output = self._outcome(tool, call)
        if recorded and output.details != recorded.details:
            raise VersionChanged(f"The tool {name} answers from other data here than when the episode was played.")
        seconds = recorded.seconds if recorded else _since(start)
        return Used(name, call.function, arguments, self._kept(output.text), output.error, seconds, {**output.details})

    def _outcome(self, tool: BaseTool | None, call: Call) -> tuple[str, Output]:
        """The name of the tool that carried out a call, empty if none could, and what it gave."""
        if call.fault:
            return "", Output(call.fault, error=True)
        try:
            tool = tool or self._tool_of(call, self.tools)
            said = "" if tool else prompts.unknown(call.function, self.tool_schemas)
        except ToolError as error:  # of a tool that has to ask elsewhere which functions there are
            said = str(error)
        return (tool.name, _called(tool, call)) if tool else ("", Output(said, error=True))

    def _opaque(self, tool: BaseTool, action: str, tape: Tape | None) -> _Answer | None:
        """Use a tool of which only GEM's interface is known."""
        name = tool.label
        if tape is not None:
            recorded = tape.taken_by(name)
            if recorded is None:
                return None
            return _Answer(len(str(recorded.arguments.get("action", ""))), recorded.output, [recorded])
        start = time.perf_counter()
        try:
            valid, error, told, parsed = tool.execute_action(action)
        except Exception as raised:  # whatever a tool raises is for the agent to read, and the episode goes on
            logger.exception("The tool %s broke", name)
            valid, error, told, parsed = True, True, prompts.broke(name, raised), action
        if not valid:
            return None
        used = Used(name, name, {"action": parsed}, self._kept(told), bool(error), _since(start))
        return _Answer(len(parsed), used.output, [used])

    @staticmethod
    def _tool_of(call: Call, tools: Iterable[BaseTool]) -> BaseTool | None:
        """The one that has the function."""
        has = (tool for tool in tools if any(one["function"]["name"] == call.function for one in tool.functions()))
        return next(has, None)

    def _kept(self, text: str) -> str:
        """An output as the record keeps it."""
        text = text.encode(errors="replace").decode()  # half a character can be neither stored nor tokenized
        if len(text) <= self.max_output:
            return text
        return f"{text[: self.max_output]}\n[{len(text) - self.max_output:,} more characters]"

    def _counters(self) -> Info:
        counters: Info = {"tool_use_counter": self.tool_use_counter, "tool_success_counter": self.tool_success_counter}
        return counters if self.tool_uses_left is None else {**counters, "tool_uses_left": self.tool_uses_left}

    # ------------------------------------------------------------------ records, states, others like it

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """As `Env.feed_tape`: the next turn takes the outputs of tools from `recorded["tool_calls"]`."""
        self._tape = Tape(recorded, repeat=repeat)
        self.env.feed_tape(recorded, repeat=repeat)

    def spawn(self, *, same_state: bool = False, **overrides: Any) -> Self:
        """As `Env.spawn`, with tools of its own."""
        other = super().spawn(same_state=same_state, **overrides)
        other.tools = [tool.spawn() for tool in self.tools]
        return other

    def close(self) -> None:
        """As `Env.close`; the tools are closed as well."""
        for tool in self.tools:
            tool.close()
        self.env.close()

    def _arguments(self) -> dict[str, Any]:
        arguments: dict[str, Any] = {
            "tools": self.described_tools,
            "tool_reward": self.tool_reward,
            "tool_success_reward": self.tool_success_reward,
            "max_tool_uses": -1 if self.max_tool_uses is None else self.max_tool_uses,
        }
        unusual = {"format": self.format, "max_output": self.max_output, "added_by_make": self.added_by_make}
        usual = {"format": "tags", "max_output": MAX_OUTPUT, "added_by_make": False}
        return arguments | {name: value for name, value in unusual.items() if value != usual[name]}

    def _get_own_state(self) -> State:
        counted = {"tool_use_counter": self.tool_use_counter, "tool_success_counter": self.tool_success_counter}
        return {**counted, "over": self._over, "suffix": self._suffix}

    def _set_own_state(self, state: State) -> None:
        self.tool_use_counter, self.tool_success_counter = state["tool_use_counter"], state["tool_success_counter"]
        self._over, self._suffix = state["over"], state["suffix"]
        self._tape = None


def _called(tool: BaseTool, call: Call) -> Output:
    """What the tool gives; what it raises is an output for the agent, and the episode goes on."""
    try:
        return tool.call(call.function, call.arguments)
    except Exception as error:  # a tool may break in any way
        logger.exception("The tool %s broke", tool.name)
        return Output(prompts.broke(tool.name, error), error=True)


def _since(start: float) -> float:
    return round(time.perf_counter() - start, 4)


def _check(env: Env, tools: Sequence[BaseTool], form: str, max_tool_uses: int | None, max_output: int) -> None:
    names = [tool.label for tool in tools]
    if not tools or len(set(names)) != len(names):
        raise InvalidArgument(f"Give at least one tool, and each once; these are {', '.join(names) or 'none'}.")
    if env.seats > 1:
        raise InvalidArgument(
            "Tools are used from one seat: fill the others first, with gem.make(..., opponent=...) or the wrapper "
            "opponent."
        )
    if form not in ("tags", "native"):
        raise InvalidArgument(f"The format of tool calls is 'tags' or 'native', not {form!r}.")
    opaque = [name for name, tool in zip(names, tools, strict=True) if is_opaque(tool)]
    if form == "native" and opaque:
        raise InvalidArgument(f"The tool {opaque[0]} has GEM's interface only, so that it is used with format='tags'.")
    if max_tool_uses is not None and max_tool_uses < -1:
        raise InvalidArgument(f"max_tool_uses is 0 or more, or None for any number, not {max_tool_uses}.")
    if max_output < 1:
        raise InvalidArgument(f"max_output must be at least 1, not {max_output}.")
