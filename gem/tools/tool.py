"""The base class of tools. The shortest tool has a name and a method `run`:

class WordCount(BaseTool):
    "Counts the words of a text."

    name = "count"

    def run(self, text: str) -> str:
        return str(len(text.split()))

An agent then writes `<count>some text</count>`, or calls the function `count` with the argument `text`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

from gem.core import RecordConstructorArgs
from gem.errors import ToolError, UsageError
from gem.tools.schema import (
    FunctionSchema,
    argument_forms,
    check_call,
    describe_function,
    optional_arguments,
    parse_arguments,
)
from gem.tools.tags import find_tagged


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool in an action."""

    function: str
    """The name of one of the tool's functions."""
    arguments: Mapping[str, Any]
    end: int
    """Index at which the call ends in the action; the rest of the action is ignored."""
    fault: str = ""
    """Why the call cannot be carried out as it is written; empty if it can."""


class ToolOutput(NamedTuple):
    """The result of a call."""

    text: str
    """The text that the agent reads."""
    error: bool = False
    """Whether the call failed."""
    details: Mapping[str, Any] = {}
    """Further facts for the record, such as the level of the sandbox or the hash of the corpus."""


class BaseTool(RecordConstructorArgs):
    """A tool; GEM's interface is `tool_type`, `instruction_string` and `execute_action`.

    A subclass defines `name` and `run`, from whose docstring and parameters the instructions for agents are made. A
    tool that finds its calls in another way defines `find`, a tool with several functions defines `functions` and
    `call`, and a tool that has only GEM's interface overrides `execute_action` and `instruction_string`.

    A tool belongs to one environment and may be called from any thread.
    """

    name: ClassVar[str] = ""
    """Its tag, and the name of its function."""
    tool_type: ClassVar[str] = ""
    """Its name in `info["tool_type"]`, as in GEM; the default is `name`."""
    repeatable: bool = False
    """Whether the same call always gives the same output, so that a record can be verified by repeating the call."""
    usually_repeats: bool = False
    """Whether most calls give the same output, so that a record can be checked with two calls (see
    `gem.verification.tapes`)."""
    has_external_instructions: bool = False
    """Whether its instructions come from elsewhere; they are then recorded with the episode."""

    def __init__(self, num_workers: int = 1) -> None:
        self.num_workers = num_workers
        """Accepted for compatibility with GEM's tools; without effect."""

    @property
    def label(self) -> str:
        """Its name in records and on pages."""
        return self.name or self.tool_type

    # ------------------------------------------------------------------ carrying out calls

    def run(self, *args: Any, **kwargs: Any) -> str | ToolOutput:
        """Carry out a call, and return the text for the agent, or a `ToolOutput` with more.

        Raises:
            ToolError: if the call cannot be carried out; the agent reads the message.
            UsageError: if the tool does not define this method.
        """
        raise _missing_run_error(self)

    def functions(self) -> list[FunctionSchema]:
        """The functions that an agent may call, as OpenAI's interface describes them."""
        return [self._function]

    def call(self, function: str, arguments: Mapping[str, Any]) -> ToolOutput:
        """Carry out a call of one of the `functions`; a failure is an output as well."""
        try:
            check_call(self._function, arguments)
            result = self.run(**arguments)
            return result if isinstance(result, ToolOutput) else ToolOutput(str(result))
        except ToolError as error:
            return ToolOutput(str(error), error=True)

    def prepare(self, seconds: float) -> None:
        """Make the requests to other machines that an episode needs at its beginning, so that `reset` need not wait.

        Raises:
            ToolError: if they do not succeed within `seconds`, so that no episode should begin.
        """

    def reset(self) -> None:
        """Prepare for a new episode, and discard what was remembered of the last one.

        Raises:
            ToolError: if the tool cannot be used, so that no episode should begin.
        """

    def close(self) -> None:
        """Release the tool's resources; may be called twice."""

    def spawn(self) -> Self:
        """Another tool made with the same arguments."""
        args, kwargs = self._constructor_args
        return type(self)(*args, **kwargs)

    def settings(self) -> dict[str, Any]:
        """The arguments that differ from their defaults, as plain data from which the same tool can be made."""
        return {}

    # ------------------------------------------------------------------ calls by tags

    def find(self, action: str) -> ToolCall | None:
        """The first complete call in an action."""
        tagged = find_tagged(action, f"<{self.name}>", f"</{self.name}>")
        if tagged is None:
            return None
        arguments, fault = parse_arguments(self._function, tagged.text.strip())
        return ToolCall(self.name, arguments, tagged.end, fault)

    def tag_marks(self, function: str) -> tuple[str, str]:
        """The texts that an agent writes before and after the arguments of a call of `function`."""
        return f"<{self.name}>", f"</{self.name}>"

    def format_output(self, output: str) -> str:
        """The output between the tags in which the agent reads it."""
        return f"\n<output>\n{output}\n</output>\n"

    def instruction_string(self) -> str:
        """The instructions for agents at the beginning of an episode."""
        description = self._function["function"]["description"]
        forms = [f"<{self.name}> {form} </{self.name}>" for form in argument_forms(self._function)]
        optional = optional_arguments(self._function)
        note = f", where {' and '.join(optional)} {'is' if len(optional) == 1 else 'are'} optional" if optional else ""
        return (
            f"{description} To use it, write {', or '.join(forms) or f'<{self.name}></{self.name}>'}{note}; "
            "what it gives comes back in <output> ... </output>."
        )

    def execute_action(self, action: str) -> tuple[bool, bool, str, str]:
        """GEM's interface: `(is_valid, has_error, observation, parsed_action)`.

        `is_valid` is whether the action calls this tool, `has_error` whether the call failed; `parsed_action` is the
        action up to the end of the call.
        """
        call = self.find(action)
        if call is None:
            return False, True, "", action
        output = ToolOutput(call.fault, error=True) if call.fault else self.call(call.function, call.arguments)
        return True, output.error, self.format_output(output.text), action[: call.end]

    # ------------------------------------------------------------------ the schema of `run`

    @cached_property
    def _function(self) -> FunctionSchema:
        if type(self).run is BaseTool.run:
            raise _missing_run_error(self)
        description = inspect.getdoc(type(self)) or self.name
        return describe_function(self.name, description.partition("\n\n")[0].replace("\n", " "), self.run)


def _missing_run_error(tool: BaseTool) -> UsageError:
    return UsageError(
        f"The tool {type(tool).__name__} says nowhere what it does. Define its method run; a tool that is written for "
        "GEM defines execute_action and instruction_string instead."
    )


def is_opaque(tool: BaseTool) -> bool:
    """Whether the tool has only GEM's interface, so that only the tool itself can find its calls in an action."""
    return type(tool).execute_action is not BaseTool.execute_action


@dataclass(slots=True)
class ToolUse:
    """A call and its output, as recorded in `info["tool_calls"]`."""

    tool: str
    function: str
    arguments: dict[str, Any]
    output: str
    error: bool
    seconds: float
    details: dict[str, Any] = field(default_factory=dict)

    def as_record(self) -> dict[str, Any]:
        """The call as plain data."""
        record = asdict(self)
        return record if self.details else {name: value for name, value in record.items() if name != "details"}
