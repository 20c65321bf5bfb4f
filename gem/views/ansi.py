r"""Splitting terminal output into spans of text with styles.

    spans("\x1b[1;31mred\x1b[0m plain")     # [("red", "bold fg-1"), (" plain", "")]

The output of programs is not trusted: an escape sequence could move the cursor, change a title or hide text. Only SGR
(select graphic rendition) sequences have an effect, and all others are removed, together with control characters and
characters that change the direction of text.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator

StyledSpan = tuple[str, str]
"""A string without control characters except newline and tab, and its styles, separated by spaces."""

_COLOURS = [f"{ground}-{number}" for ground in ("fg", "bg") for number in range(16)]
STYLES = ("bold", "dim", "italic", "underline", "inverse", "strike", *_COLOURS)
"""All styles; `fg-` and `bg-` are followed by one of the sixteen colours of a terminal."""

_SEQUENCE = re.compile(
    r"\x1b\[([0-9;:]*)m"  # SGR
    r"|\x1b\[[0-?]*[ -/]*[@-~]?"  # other control sequences
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f]).*?(?:\x07|\x1b\\|\x9c|\Z)"  # titles and other strings
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]?",
    re.DOTALL,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SET_CODES = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
_RESET_CODES = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("inverse",), 29: ("strike",)}


def plain(text: str) -> str:
    """Return the text without escape sequences and control characters."""
    return "".join(part for part, _ in spans(text))


def spans(text: str) -> list[StyledSpan]:
    """Split the text into pieces of one style each; a carriage return before a newline is removed."""
    return list(_spans(text.replace("\r\n", "\n")))


def _spans(text: str) -> Iterator[StyledSpan]:
    style: dict[str, str] = {}
    position = 0
    for match in _SEQUENCE.finditer(text):
        yield from _piece(text[position : match.start()], style)
        if match[1] is not None:
            style = _apply_sequence(style, match[1])
        position = match.end()
    yield from _piece(text[position:], style)


def _piece(text: str, style: dict[str, str]) -> Iterator[StyledSpan]:
    visible = _CONTROL.sub("", text)
    if visible:
        yield visible, " ".join(sorted(style.values()))


def _apply_sequence(style: dict[str, str], sequence: str) -> dict[str, str]:
    """Return the style after an SGR sequence; `style` maps a property ("fg", "bold") to its name in `STYLES`."""
    codes = deque(int(part or 0) for part in sequence.replace(":", ";").split(";") if len(part) < 4)
    new_style = dict(style)
    while codes:
        code = codes.popleft()
        if code == 0:
            new_style = {}
        elif code in _SET_CODES:
            new_style[_SET_CODES[code]] = _SET_CODES[code]
        elif code in _RESET_CODES:
            for name in _RESET_CODES[code]:
                new_style.pop(name, None)
        elif code in (38, 48):
            _apply_extended_colour(new_style, "fg" if code == 38 else "bg", codes)
        else:
            _apply_colour(new_style, code)
    return new_style


def _apply_colour(style: dict[str, str], code: int) -> None:
    for ground, first in (("fg", 30), ("bg", 40)):
        if first <= code < first + 8:
            style[ground] = f"{ground}-{code - first}"
        elif first + 60 <= code < first + 68:
            style[ground] = f"{ground}-{code - first - 52}"
        elif code == first + 9:
            style.pop(ground, None)


def _apply_extended_colour(style: dict[str, str], ground: str, codes: deque[int]) -> None:
    """Set a colour of the palette of 256 or an RGB colour, as the nearest of the sixteen."""
    kind = codes.popleft() if codes else 0
    if kind == 5 and codes:
        number = codes.popleft()
        style[ground] = f"{ground}-{number if number < 16 else _nearest_colour(*_rgb_of_256(number))}"
    elif kind == 2 and len(codes) >= 3:
        style[ground] = f"{ground}-{_nearest_colour(*(codes.popleft() for _ in range(3)))}"


def _rgb_of_256(number: int) -> tuple[int, int, int]:
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    cube = number - 16
    red, green, blue = cube // 36, cube // 6 % 6, cube % 6
    return tuple(55 + 40 * part if part else 0 for part in (red, green, blue))  # type: ignore[return-value]  # three


def _nearest_colour(red: int, green: int, blue: int) -> int:
    """Return one of the sixteen colours, by which components are strong and how bright the strongest one is."""
    strongest = max(red, green, blue)
    if strongest < 48:
        return 0
    if max(red, green, blue) - min(red, green, blue) < 32:
        return 8 if strongest < 128 else 7 if strongest < 224 else 15
    bits = sum(1 << place for place, part in enumerate((red, green, blue)) if part > strongest / 2)
    return bits + (8 if strongest > 200 else 0)
