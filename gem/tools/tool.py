"""What a tool is. The shortest one names itself and says in `run` what it does:

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
from gem.tools.schema import Function, arguments_in, check_call, form_of, function_of
from gem.tools.tags import between


@dataclass(frozen=True, slots=True)
class Call:
    """One use of a tool that an action asks for."""

    function: str
    """The name of one of the tool's functions."""
    arguments: Mapping[str, Any]
    end: int
    """Where in the action it ends; what follows is not looked at."""
    fault: str = ""
    """Why it cannot be carried out as it is written; empty if it can."""


class Output(NamedTuple):
    """What a tool gave."""

    text: str
    error: bool = False
    details: Mapping[str, Any] = {}
    """What else is worth a place in the record: the level of the sandbox, the hash of the corpus."""


class BaseTool(RecordConstructorArgs):
    """A tool; GEM's interface is `tool_type`, `instruction_string` and `execute_action`.

    A subclass defines `name` and `run`, whose parameters and docstrings say what agents are told. One that finds its
    calls in another way defines `find`, one that offers several functions `functions` and `call`, and one that only
    has GEM's interface overrides `execute_action` and `instruction_string`.

    A tool is used by one environment at a time and may be asked from any thread.
    """

    name: ClassVar[str] = ""
    """Its tag and the name of its function."""
    tool_type: ClassVar[str] = ""
    """What GEM calls it in `info["tool_type"]`; the name if left out."""
    repeatable: bool = False
    """Whether the same call always gives the same output, so that a record of it can be checked by asking again."""
    told_from_outside: bool = False
    """Whether its instructions come from elsewhere; they are then recorded with the episode."""

    def __init__(self, num_workers: int = 1) -> None:
        self.num_workers = num_workers
        """Accepted as GEM's tools do; without effect."""

    @property
    def label(self) -> str:
        """What records and pages call it."""
        return self.name or self.tool_type

    # ------------------------------------------------------------------ what it does

    def run(self, *args: Any, **kwargs: Any) -> str | Output:
        """Do it, and return what the agent reads; an `Output` says more.

        Raises:
            ToolError: if it cannot be done; the agent reads the message.
            UsageError: if the tool does not define it.
        """
        raise _unwritten(self)

    def functions(self) -> list[Function]:
        """What an agent may call, as OpenAI's interface describes functions."""
        return [self._function]

    def call(self, function: str, arguments: Mapping[str, Any]) -> Output:
        """Carry out a call of one of `functions`; what goes wrong on the way is an output as well."""
        try:
            check_call(self._function, arguments)
            given = self.run(**arguments)
            return given if isinstance(given, Output) else Output(str(given))
        except ToolError as error:
            return Output(str(error), error=True)

    def prepare(self, seconds: float) -> None:
        """Ask beforehand what has to be asked elsewhere before an episode can begin, so that `reset` waits for nothing.

        Raises:
            ToolError: if that cannot be known within `seconds`, so that no episode should begin.
        """

    def reset(self) -> None:
        """A new episode begins; what a tool remembers of the last one ends here.

        Raises:
            ToolError: if the tool cannot be used, so that no episode should begin.
        """

    def close(self) -> None:
        """Release what the tool holds; safe to call twice."""

    def spawn(self) -> Self:
        """Another tool made with the same arguments."""
        args, kwargs = self._constructor_args
        return type(self)(*args, **kwargs)

    def settings(self) -> dict[str, Any]:
        """The arguments that were not left at their defaults, as plain data: what makes the same tool again."""
        return {}

    # ------------------------------------------------------------------ how it is asked for by tags

    def find(self, action: str) -> Call | None:
        """The first complete call in an action."""
        found = between(action, f"<{self.name}>", f"</{self.name}>")
        if found is None:
            return None
        given, fault = arguments_in(self._function, found.text.strip())
        return Call(self.name, given, found.end, fault)

    def told(self, output: str) -> str:
        """The output as the agent reads it."""
        return f"\n<output>\n{output}\n</output>\n"

    def instruction_string(self) -> str:
        """What an agent is told about the tool before an episode begins."""
        description = self._function["function"]["description"]
        form = form_of(self._function)
        return (
            f"{description} To use it, write <{self.name}>{form and f' {form} '}</{self.name}>; "
            "what it gives comes back in <output> ... </output>."
        )

    def execute_action(self, action: str) -> tuple[bool, bool, str, str]:
        """GEM's interface: `(is_valid, has_error, observation, parsed_action)`.

        `is_valid` says whether the action asks for this tool, `has_error` whether that went wrong; `parsed_action` is
        the action up to the end of the call.
        """
        call = self.find(action)
        if call is None:
            return False, True, "", action
        output = Output(call.fault, error=True) if call.fault else self.call(call.function, call.arguments)
        return True, output.error, self.told(output.text), action[: call.end]

    # ------------------------------------------------------------------ read from `run`

    @cached_property
    def _function(self) -> Function:
        if type(self).run is BaseTool.run:
            raise _unwritten(self)
        description = inspect.getdoc(type(self)) or self.name
        return function_of(self.name, description.partition("\n\n")[0].replace("\n", " "), self.run)


def _unwritten(tool: BaseTool) -> UsageError:
    return UsageError(
        f"The tool {type(tool).__name__} says nowhere what it does. Define its method run; a tool that is written for "
        "GEM defines execute_action and instruction_string instead."
    )


def is_opaque(tool: BaseTool) -> bool:
    """Whether the tool has GEM's interface only: what it reads in an action is known to nobody else."""
    return type(tool).execute_action is not BaseTool.execute_action


@dataclass(slots=True)
class Used:
    """One call and what came of it, as `info["tool_calls"]` keeps it."""

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
