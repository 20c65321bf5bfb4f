"""Tools of the tests' own, written as users write them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from gem.errors import ToolError
from gem.tools import BaseTool


class WordCount(BaseTool):
    """Counts the words of a text."""

    name = "count"

    def run(self, text: str) -> str:
        return str(len(text.split()))


class Scale(BaseTool):
    """Weighs something.

    What follows the first paragraph is for people.
    """

    name = "scale"

    def run(
        self, what: Annotated[str, "the thing"], grams: int = 10, unit: Literal["g", "kg"] = "g", exact: bool = False
    ) -> str:
        if what == "smoke":
            raise ToolError("Smoke cannot be weighed.")
        return f"{what}: {grams} {unit}{' exactly' if exact else ''}"


class Add(BaseTool):
    """Adds two whole numbers."""

    name = "add"

    def run(self, a: int, b: int = 1) -> str:
        return str(a + b)


class Power(BaseTool):
    """Raises a number to a power."""

    name = "power"

    def run(self, base: float, exponent: int) -> str:
        return f"{base**exponent:g}"


class Root(BaseTool):
    """The square root of a whole number."""

    name = "root"

    def run(self, number: int) -> str:
        return f"{number**0.5:g}"


class Clock(BaseTool):
    """What time it is."""

    name = "clock"

    def run(self) -> str:
        return "noon"


class Bomb(BaseTool):
    """Breaks in a way that no tool should."""

    name = "bomb"

    def run(self, text: str) -> str:
        raise RuntimeError(f"boom {text}")


class Flood(BaseTool):
    """Says much."""

    name = "flood"

    def run(self, text: str) -> str:
        return text * 10_000 + "\ud800"


class Counter(BaseTool):
    """Gives another number each time, as the outside does."""

    name = "counter"
    asked = 0

    def run(self, text: str) -> str:
        Counter.asked += 1
        return f"{text} {Counter.asked}"


class Mirror(BaseTool):
    """Gives back what it is given."""

    name = "mirror"
    repeatable = True
    asked = 0
    prefix = ""

    def run(self, text: str) -> str:
        Mirror.asked += 1
        return self.prefix + text[::-1]


class OfGem(BaseTool):
    """A tool as one is written for GEM: its own parsing, and nothing else."""

    tool_type = "of_gem"
    asked = 0

    def instruction_string(self) -> str:
        return "Write ping."

    def execute_action(self, action: str) -> tuple[bool, bool, str, str]:
        OfGem.asked += 1
        if "crash" in action:
            raise ValueError("crashed")
        if "ping" not in action:
            return False, True, "", action
        return True, False, "pong", action[: action.index("ping") + 4]


def info_of(step: Any) -> dict[str, Any]:
    """The info of a step."""
    info: dict[str, Any] = step[4]
    return info
