r"""Python for agents: `<python>print(2**10)</python>`, or a fence that begins with ```python.

The code runs in the sandbox (`gem.sandbox`), without network and files, each time from the beginning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any, ClassVar

from gem import sandbox
from gem.errors import InvalidArgument, SandboxUnavailable
from gem.tools.tags import TaggedText, find_tagged
from gem.tools.tool import BaseTool, ToolCall, ToolOutput

TIMEOUT = 5.0
"""Seconds, as in GEM."""
LONGEST_TIMEOUT = 60.0

_FORMS = (("<python>", "</python>"), ("```python", "```"), ("```\npython", "```"))
_UNDEFINED = "is not defined"
_LINE = re.compile(r'(?<=File "main.py", line )\d+')
PRELUDE = """\
import bisect, cmath, collections, copy, datetime, decimal, fractions, functools, heapq, itertools, json, math
import operator, random, re, statistics, string, sys, time
from collections import Counter, OrderedDict, defaultdict, deque
from decimal import Decimal
from fractions import Fraction
from functools import cache, lru_cache, partial, reduce
from itertools import accumulate, chain, combinations, count, cycle, groupby, islice, pairwise, permutations, product
from math import atan2, ceil, comb, cos, exp, factorial, floor, gcd, inf, isqrt, log, log2, log10, pi, prod, sin, sqrt
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Tuple, Union
try:
    import numpy as np
except ImportError:
    pass
"""
"""What code that uses a name without importing it most often means."""


class PythonCodeTool(BaseTool):
    """Runs a Python program in a sandbox and gives back what it prints."""

    name: ClassVar[str] = "python"
    tool_type: ClassVar[str] = "python_code"
    usually_repeats = True

    def __init__(
        self,
        timeout: float = TIMEOUT,
        sandbox_type: str | None = None,
        keep_error_last_line: bool = False,
        all_blocks: bool = False,
    ) -> None:
        """Make the tool.

        Args:
            timeout: seconds that a program may run.
            sandbox_type: accepted as GEM's scripts pass it; the safest sandbox of the machine is always taken.
            keep_error_last_line: of a traceback, keep its last line only.
            all_blocks: where an action has several blocks, run all of them as one program, and not the first alone.

        Raises:
            InvalidArgument: if the timeout is not between 0 and 60 s.
        """
        super().__init__()
        if not 0 < timeout <= LONGEST_TIMEOUT:
            raise InvalidArgument(f"The timeout is more than 0 and at most {LONGEST_TIMEOUT:g} s, not {timeout!r}.")
        self.timeout = timeout
        self.sandbox_type = sandbox_type
        self.keep_error_last_line = keep_error_last_line
        self.all_blocks = all_blocks

    def find(self, action: str) -> ToolCall | None:
        """The first complete block, or all of them."""
        blocks = list(_blocks(action) if self.all_blocks else islice(_blocks(action), 1))
        if not blocks:
            return None
        return ToolCall(self.name, {"code": "\n".join(block.text.strip("\n") for block in blocks)}, blocks[-1].end)

    def run(self, code: Annotated[str, "a complete program, which prints what you want to know"]) -> ToolOutput:
        """As `BaseTool.run`; what went wrong is part of the text."""
        limits = sandbox.Limits(wall_seconds=self.timeout)
        try:
            result = sandbox.run(code, limits=limits)
            if result.status == "error" and _UNDEFINED in result.stderr:
                result = sandbox.run(PRELUDE + code, limits=limits)
                result = replace(result, stderr=_LINE.sub(_own_line, result.stderr))
        except SandboxUnavailable as error:
            return ToolOutput(f"Code cannot be run here: {error}", error=True)
        details = {"sandbox": result.level, "status": result.status}
        return ToolOutput(self._said(result), result.status != "ok", details)

    def format_output(self, output: str) -> str:
        """See `BaseTool.format_output`; in GEM's form."""
        return f"Code execution result: {output}\n"

    def instruction_string(self) -> str:
        """As `BaseTool.instruction_string`."""
        return (
            "Python: write a complete program, imports included, between <python> and </python> or in a ```python "
            "fence. It runs in a sandbox without network, each time from the beginning, and what it prints comes back "
            f'after "Code execution result: ". It may take {self.timeout:g} s.'
        )

    def settings(self) -> dict[str, Any]:
        """As `BaseTool.settings`."""
        settings = {"timeout": self.timeout, "keep_error_last_line": self.keep_error_last_line}
        settings["all_blocks"] = self.all_blocks
        defaults = {"timeout": TIMEOUT, "keep_error_last_line": False, "all_blocks": False}
        return {name: value for name, value in settings.items() if value != defaults[name]}

    def _said(self, result: sandbox.Result) -> str:
        stderr = result.stderr.strip()
        if self.keep_error_last_line:
            stderr = stderr.rpartition("\n")[2]
        ended = {
            "timeout": f"Execution timed out after {self.timeout:g} seconds.",
            "memory": "The program needed more memory than it may have.",
            "output": "The program printed more than it may; the rest is missing.",
            "killed": "The program was ended because it did what the sandbox does not allow.",
        }
        wrong = "\n".join(part for part in (stderr, ended.get(result.status, "")) if part)
        return (f"{result.stdout}\n{wrong}" if wrong else result.stdout).lstrip(" \n")


def _own_line(number: re.Match[str]) -> str:
    """A line of the program, counted without the lines that were put before it."""
    return str(int(number[0]) - PRELUDE.count("\n"))


def _blocks(action: str) -> Iterator[TaggedText]:
    """The complete blocks, in their order."""
    after = 0
    while candidates := [block for form in _FORMS if (block := find_tagged(action, *form, after))]:
        first = min(candidates, key=lambda block: block.start)
        yield first
        after = first.end
