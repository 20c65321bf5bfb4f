"""A wrapper that adds tools to any environment: a tool answers the actions that call it, the environment all others."""

from __future__ import annotations

import copy
import logging
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, cast

from gem.core import Env, EnvWrapper, Info, State, Step
from gem.errors import EnvironmentFailure, InvalidArgument, ToolError, VersionChanged
from gem.tools import prompts
from gem.tools.arguments import check_limits, check_tool_rewards
from gem.tools.calls import find_calls
from gem.tools.kinds import ToolSpec, check_tools, describe_tool, make_tool
from gem.tools.schema import FunctionSchema
from gem.tools.tape import Tape
from gem.tools.tool import BaseTool, ToolCall, ToolOutput, ToolUse, is_opaque
from gem.validation.arguments import check_numbers
from gem.validation.values import check_action
from gem.views import View

logger = logging.getLogger(__name__)

Format = Literal["tags", "native"]

MAX_CALLS = 16
"""Number of calls in one action that are carried out; the others are not run."""
MAX_OUTPUT = 16_000
"""Characters of a tool's output that are kept."""
NO_TOOLS = "The episode cannot begin without its tools:"


@dataclass(frozen=True, slots=True)
class _Answer:
    """The tools' answer to an action."""

    end: int
    """Where in the action the last call ends."""
    text: str
    """The observation for the agent."""
    uses: list[ToolUse]

    @property
    def first_tool(self) -> str:
        """The tool that was used first."""
        return self.uses[0].tool


class ToolEnvWrapper(EnvWrapper):
    """Lets an agent use tools between its actions.

    The tool answers an action that calls it: the environment does not see the action, and the episode continues,
    whatever the tool does. `info["tool_calls"]` has the calls and their outputs, `info["parsed_action"]` the action up
    to the end of the last call. All other actions go to the environment, and every action once `max_tool_uses` is
    reached.

    With `format="tags"` (GEM's) each tool is called between its own tags, and the first complete call in an action
    counts. With `format="native"` the tools are functions, called in the formats that `gem.tools.calls` reads; several
    calls in one action are all answered.

    An episode is replayed from its record without using the tools (see `Env.feed_tape`); `repeatable` tools are called
    again to verify a record.

    Args:
        tools: tools, or their names and arguments (see `gem.tools.kinds`).
        tool_reward: the reward for a well-formed call.
        tool_success_reward: the additional reward for a call that succeeds.
        tool_execute_error_reward: the reward for a call that fails, at most 0; not with one of the rewards above.
        max_tool_uses: the number of tool uses in an episode; None (or -1) for any number.
        format: the format of calls, `tags` or `native`.
        max_output: the number of characters of an output to keep; the agent reads how many are missing.
        added_by_make: whether `gem.make` added the wrapper, so that the environment's specification already names it.

    Raises:
        InvalidArgument: if there are no tools or two of one name, the environment has several seats, a tool cannot be
            called in this format, or `max_tool_uses` or `max_output` is impossible.
    """

    def __init__(
        self,
        env: Env,
        tools: Sequence[ToolSpec],
        tool_reward: float = 0.0,
        tool_success_reward: float = 0.0,
        tool_execute_error_reward: float = 0.0,
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
        check_tools(self.tools, format, env.seats)
        check_numbers(type(self), {"max_tool_uses": max_tool_uses, "max_output": max_output})
        check_limits(max_tool_uses, max_output)
        check_tool_rewards(tool_reward, tool_success_reward, tool_execute_error_reward)
        self.tool_reward, self.tool_success_reward = tool_reward, tool_success_reward
        self.tool_execute_error_reward = tool_execute_error_reward
        self.max_tool_uses = None if max_tool_uses in (None, -1) else max_tool_uses
        self.format, self.max_output, self.added_by_make = format, max_output, added_by_make
        self.tool_use_counter = 0
        self.tool_success_counter = 0
        self._over = True
        self._suffix: Any = None
        """The environment's last `suffix`; the agent has to read it after a tool's answer as well."""
        self._tape: Tape | None = None

    # ------------------------------------------------------------------ limits, tools and the view

    @property
    def max_turns(self) -> int:  # type: ignore[override]  # here it is the sum of two limits
        """The environment's own turns and those that tools may take; 0 if one of them has no limit."""
        if self.max_tool_uses is None or not self.env.max_turns:
            return 0
        return self.env.max_turns + self.max_tool_uses

    @property
    def tool_schemas(self) -> list[FunctionSchema]:
        """The functions that may be called, as OpenAI's `tools`; empty unless the format is native."""
        return [function for tool in self.tools for function in tool.functions()] if self.format == "native" else []

    @property
    def described_tools(self) -> list[ToolSpec]:
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
        """See `Env.view`; the number of tool uses is added to its facts."""
        view: Any = self.env.view(seat)
        count = str(self.tool_use_counter)
        if self.max_tool_uses is not None:
            count += f" of {self.max_tool_uses}"
        extended: Any = {**view, "facts": [*view.get("facts", ()), ("Tool uses", count)]}
        return cast("View", extended)

    # ------------------------------------------------------------------ turns

    def prepare_tools(self, seconds: float) -> None:
        """Make the requests to other machines that the tools need, so that `reset` need not wait for them; optional.

        Raises:
            EnvironmentFailure: if a tool cannot be used, or does not become ready within `seconds`.
        """
        deadline = time.monotonic() + seconds
        try:
            for tool in self.tools:
                if not is_opaque(tool):
                    tool.prepare(max(0.0, deadline - time.monotonic()))
        except ToolError as error:
            raise EnvironmentFailure(f"{NO_TOOLS} {error}") from error

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """See `Env.reset`; the instructions for the tools follow the environment's observation.

        Raises:
            EnvironmentFailure: if a tool cannot be used.
        """
        tape, self._tape = self._tape, None
        previous = {
            "prev_ep_tool_use_counter": self.tool_use_counter,
            "prev_ep_tool_success_counter": self.tool_success_counter,
        }
        self.tool_use_counter = self.tool_success_counter = 0
        observation, info = self.env.reset(seed=seed)
        self._over, self._suffix = False, info.get("suffix")
        info = {**info, **self._counters(), **previous, "use_tool": False}
        is_external = any(tool.has_external_instructions for tool in self.tools)
        if tape and is_external:
            instructions = tape.instructions or prompts.NOT_RECORDED
        else:
            instructions = self._instructions(live=tape is None)
        if is_external:
            info["tool_instructions"] = instructions
        return f"{observation}\n{instructions}", info

    def _instructions(self, *, live: bool) -> str:
        try:
            if live:
                for tool in self.tools:
                    tool.reset()
            return prompts.instructions(self.tools, self.tool_schemas, self.max_tool_uses)
        except ToolError as error:
            raise EnvironmentFailure(f"{NO_TOOLS} {error}") from error

    def step(self, action: str) -> Step:
        """See `Env.step`; an action that calls a tool is answered by the tool."""
        check_action(action)
        tape, self._tape = self._tape, None
        if not self._over and self.tool_uses_left != 0:
            answer = self._answer_native(action, tape) if self.format == "native" else self._answer_tagged(action, tape)
            if answer is not None:
                return self._tool_step(action, answer)
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._over, self._suffix = terminated or truncated, info.get("suffix")
        return observation, reward, terminated, truncated, {**info, **self._counters(), "use_tool": False}

    def _tool_step(self, action: str, answer: _Answer) -> Step:
        """The step of a turn that tools answered."""
        reward = 0.0
        for use in answer.uses:
            self.tool_use_counter += 1
            self.tool_success_counter += not use.error
            reward += self.tool_reward * bool(use.tool) + self.tool_success_reward * (not use.error)
            reward += self.tool_execute_error_reward * use.error
        info: Info = {
            "parsed_action": action[: answer.end],
            "tool_type": next(
                (tool.tool_type or tool.name for tool in self.tools if tool.label == answer.first_tool), ""
            ),
            "tool_calls": [use.as_record() for use in answer.uses],
            **self._counters(),
            "use_tool": True,
        }
        if self._suffix is not None:
            info["suffix"] = self._suffix
        if not any(use.tool for use in answer.uses):
            info["error"] = "format"
        observation = f"{answer.text}\n{prompts.LAST_USE}" if self.tool_uses_left == 0 else answer.text
        return observation, reward, False, False, info

    # ------------------------------------------------------------------ finding calls and carrying them out

    def _answer_native(self, action: str, tape: Tape | None) -> _Answer | None:
        calls = find_calls(action)
        if not calls:
            return None
        limit = MAX_CALLS if self.tool_uses_left is None else min(MAX_CALLS, self.tool_uses_left)
        uses = [self._use(None, call, tape) for call in calls[:limit]]
        outputs = [use.output for use in uses] + [prompts.NOT_RUN] * len(calls[limit:])
        text = "\n".join(f"<tool_response>\n{output}\n</tool_response>" for output in outputs)
        return _Answer(calls[-1].end, text, uses)

    def _answer_tagged(self, action: str, tape: Tape | None) -> _Answer | None:
        candidates = [
            (call.end, tool, call) for tool in self.tools if not is_opaque(tool) and (call := tool.find(action))
        ]
        if candidates:
            end, tool, call = min(candidates, key=lambda candidate: candidate[0])
            use = self._use(tool, call, tape)
            return _Answer(end, tool.format_output(use.output), [use])
        answers = (self._answer_opaque(tool, action, tape) for tool in self.tools if is_opaque(tool))
        return next((answer for answer in answers if answer), None)

    def _use(self, tool: BaseTool | None, call: ToolCall, tape: Tape | None) -> ToolUse:
        """Carry out a call, or read it from the tape; without a tool, the tool is looked up by the function."""
        arguments = copy.deepcopy(dict(call.arguments))
        recorded = tape and tape.next(call.function, arguments)
        if tape and recorded and not call.fault:
            may_repeat = tape.repeat and self._may_repeat(tool, recorded)
            tool = tool or self._tool_of(call, (candidate for candidate in self.tools if candidate.repeatable))
            if not may_repeat or (tool is None and not self.is_repeatable):
                return recorded
        start = time.perf_counter()
        name, output = self._outcome(tool, call)
        if recorded and output.details != recorded.details:
            raise VersionChanged(f"The tool {name} answers from other data here than when the episode was played.")
        seconds = recorded.seconds if recorded else _since(start)
        return ToolUse(
            name, call.function, arguments, self.truncate(output.text), output.error, seconds, {**output.details}
        )

    def _may_repeat(self, tool: BaseTool | None, recorded: ToolUse) -> bool:
        """Whether a recorded call gives the same output again.

        A record may say that no tool carried out the call, although there is one that would. It is believed only where
        a tool that does not repeat could have been the reason.
        """
        if tool is not None:
            return tool.repeatable
        names = {candidate.name for candidate in self.tools if candidate.repeatable}
        return recorded.tool in names or self.is_repeatable

    @property
    def is_repeatable(self) -> bool:
        """Whether the outputs of all tools can be repeated, so that nothing is taken from a record that is verified."""
        return all(tool.repeatable and not is_opaque(tool) for tool in self.tools)

    def _outcome(self, tool: BaseTool | None, call: ToolCall) -> tuple[str, ToolOutput]:
        """The name of the tool that carried out a call, empty if none could, and its output."""
        if call.fault:
            return "", ToolOutput(call.fault, error=True)
        try:
            tool = tool or self._tool_of(call, self.tools)
            fault = "" if tool else prompts.unknown_function(call.function, self.tool_schemas)
        except ToolError as error:  # from a tool that has to request its list of functions
            fault = str(error)
        return (tool.name, _call_tool(tool, call)) if tool else ("", ToolOutput(fault, error=True))

    def _answer_opaque(self, tool: BaseTool, action: str, tape: Tape | None) -> _Answer | None:
        """Use a tool that has only GEM's interface."""
        name = tool.label
        if tape is not None:
            recorded = tape.next_of_tool(name)
            if recorded is None:
                return None
            return _Answer(len(str(recorded.arguments.get("action", ""))), recorded.output, [recorded])
        start = time.perf_counter()
        try:
            valid, error, text, parsed = tool.execute_action(action)
        except Exception as raised:  # the agent reads any error of a tool, and the episode goes on
            logger.exception("The tool %s failed", name)
            valid, error, text, parsed = True, True, prompts.tool_failure(name, raised), action
        if not valid:
            return None
        use = ToolUse(name, name, {"action": parsed}, self.truncate(text), bool(error), _since(start))
        return _Answer(len(parsed), use.output, [use])

    @staticmethod
    def _tool_of(call: ToolCall, tools: Iterable[BaseTool]) -> BaseTool | None:
        """The first tool that has the function."""
        for tool in tools:
            if any(function["function"]["name"] == call.function for function in tool.functions()):
                return tool
        return None

    def truncate(self, text: str) -> str:
        """An output, cut at `max_output` characters."""
        text = text.encode(errors="replace").decode()  # a lone surrogate can be neither stored nor tokenized
        if len(text) <= self.max_output:
            return text
        return f"{text[: self.max_output]}\n[{len(text) - self.max_output:,} more characters]"

    def _counters(self) -> Info:
        counters: Info = {"tool_use_counter": self.tool_use_counter, "tool_success_counter": self.tool_success_counter}
        return counters if self.tool_uses_left is None else {**counters, "tool_uses_left": self.tool_uses_left}

    # ------------------------------------------------------------------ records, states, copies

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """See `Env.feed_tape`; the next turn takes the outputs of tools from `recorded["tool_calls"]`."""
        self._tape = Tape(recorded, repeat=repeat)
        self.env.feed_tape(recorded, repeat=repeat)

    def spawn(self, same_state: bool = False, **overrides: Any) -> Self:
        """See `Env.spawn`; the copy has tools of its own."""
        other = super().spawn(same_state=same_state, **overrides)
        other.tools = [tool.spawn() for tool in self.tools]
        return other

    def close(self) -> None:
        """See `Env.close`; the tools are closed as well."""
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
        settings = {
            "tool_execute_error_reward": self.tool_execute_error_reward,
            "format": self.format,
            "max_output": self.max_output,
            "added_by_make": self.added_by_make,
        }
        defaults = {"format": "tags", "max_output": MAX_OUTPUT, "added_by_make": False, "tool_execute_error_reward": 0}
        return arguments | {name: value for name, value in settings.items() if value != defaults[name]}

    def _get_own_state(self) -> State:
        counters = {"tool_use_counter": self.tool_use_counter, "tool_success_counter": self.tool_success_counter}
        return {**counters, "over": self._over, "suffix": self._suffix}

    def _set_own_state(self, state: State) -> None:
        self.tool_use_counter, self.tool_success_counter = state["tool_use_counter"], state["tool_success_counter"]
        self._over, self._suffix = state["over"], state["suffix"]
        self._tape = None


def _call_tool(tool: BaseTool, call: ToolCall) -> ToolOutput:
    """The output of a call; an exception becomes an output for the agent, and the episode continues."""
    try:
        return tool.call(call.function, call.arguments)
    except Exception as error:  # a tool may fail in any way
        logger.exception("The tool %s failed", tool.name)
        return ToolOutput(prompts.tool_failure(tool.name, error), error=True)


def _since(start: float) -> float:
    return round(time.perf_counter() - start, 4)
