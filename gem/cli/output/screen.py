"""The screen of an episode: the text that an agent reads, or the board in colour.

Colours need the package `rich` and a terminal; otherwise the screen is plain text.
"""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any, Protocol

from gem.views.plain_text import Line, draw

if TYPE_CHECKING:
    from gem.core import Env, Info

STYLES = {
    "hidden": "dim", "open": "", "floor": "dim", "wall": "bright_black", "given": "bold", "entry": "cyan",
    "mark": "bold cyan", "found": "black on green", "hit": "black on green", "near": "black on yellow",
    "miss": "bright_black", "bad": "bold red", "blank": "bright_black", "tile": "bold yellow", "void": "",
    "title": "bold", "dim": "dim", "box": "bold yellow", "player": "bold cyan", "target": "bold magenta",
    "flag": "bold red", "mine": "bold white on red", "disc": "bold red", "ring": "bold yellow", "black": "bold",
    "white": "bold bright_black",
}  # fmt: skip
"""The tone of a piece of a board to a style of rich."""


class Screen(Protocol):
    """Prints the states of an episode."""

    def show(self, env: Env, observation: str, info: Info, seat: int = 0) -> None:
        """Print the present state as `seat` may see it."""
        ...


class PlainScreen:
    """Prints the text that an agent reads."""

    def show(self, env: Env, observation: str, info: Info, seat: int = 0) -> None:
        """See `Screen.show`."""
        print("\n\n".join(part for part in (observation, str(info.get("suffix", ""))) if part))


class ColourScreen:
    """Prints the observation, and the board in colour."""

    def __init__(self, console: Any) -> None:
        self.console = console

    def show(self, env: Env, observation: str, info: Info, seat: int = 0) -> None:
        """See `Screen.show`."""
        view = env.view(seat)
        if view["kind"] != "text" or observation.strip() not in view["text"]:
            self.console.print(observation, markup=False, highlight=False)
            self.console.print()
        for line in draw(view):
            self.console.print(styled(line))


def styled(line: Line) -> Any:
    """Convert a line to a `rich.text.Text`."""
    from rich.text import Text  # noqa: PLC0415 (rich is optional)

    return Text.assemble(*((span.text, STYLES.get(span.tone, "")) for span in line))


def open_screen(*, plain: bool) -> Screen:
    """Return a screen in colour if the terminal supports it, else a plain one."""
    if plain or not sys.stdout.isatty() or importlib.util.find_spec("rich") is None:
        return PlainScreen()
    from rich.console import Console  # noqa: PLC0415 (as above)

    return ColourScreen(Console(soft_wrap=True))
