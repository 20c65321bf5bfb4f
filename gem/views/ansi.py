r"""Text with the escape sequences of a terminal, as spans with styles: colours are kept, all else is dropped.

    spans("\x1b[1;31mred\x1b[0m plain")     # [("red", "bold fg-1"), (" plain", "")]

What a program writes is not to be trusted: a sequence could move the cursor, change a title or hide text. Only SGR
(select graphic rendition) has an effect here; control characters and characters that reorder text are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

Span = tuple[str, str]
"""A text without a control character but newline and tab, and its styles: words with spaces between, or nothing."""

_COLOURS = [f"{ground}-{number}" for ground in ("fg", "bg") for number in range(16)]
STYLES = ("bold", "dim", "italic", "underline", "inverse", "strike", *_COLOURS)
"""Every style there is; the colours are the sixteen of a terminal."""

_SEQUENCE = re.compile(
    r"\x1b\[([0-9;:]*)m"  # SGR
    r"|\x1b\[[0-?]*[ -/]*[@-~]?"  # other control sequences
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d\x9e\x9f]).*?(?:\x07|\x1b\\|\x9c|\Z)"  # titles and other strings
    r"|\x1b[ -/]*[0-~]?"
    r"|\x9b[0-?]*[ -/]*[@-~]?",
    re.DOTALL,
)
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_ON = {1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike"}
_OFF = {22: ("bold", "dim"), 23: ("italic",), 24: ("underline",), 27: ("inverse",), 29: ("strike",)}


def plain(text: str) -> str:
    """The text without any sequence or control character."""
    return "".join(part for part, _ in spans(text))


def spans(text: str) -> list[Span]:
    """The text in pieces of one style each; a carriage return before a newline is dropped."""
    return list(_spans(text.replace("\r\n", "\n")))


def _spans(text: str) -> Iterator[Span]:
    style: dict[str, str] = {}
    at = 0
    for found in _SEQUENCE.finditer(text):
        yield from _piece(text[at : found.start()], style)
        if found[1] is not None:
            style = _changed(style, found[1])
        at = found.end()
    yield from _piece(text[at:], style)


def _piece(text: str, style: dict[str, str]) -> Iterator[Span]:
    kept = _CONTROL.sub("", text)
    if kept:
        yield kept, " ".join(sorted(style.values()))


def _changed(style: dict[str, str], sequence: str) -> dict[str, str]:
    """The style after an SGR sequence; `style` maps what is set ("fg", "bold") to its word."""
    codes = [int(part or 0) for part in sequence.replace(":", ";").split(";") if len(part) < 4]
    changed = dict(style)
    while codes:
        code = codes.pop(0)
        if code == 0:
            changed = {}
        elif code in _ON:
            changed[_ON[code]] = _ON[code]
        elif code in _OFF:
            for name in _OFF[code]:
                changed.pop(name, None)
        elif code in (38, 48):
            _extended(changed, "fg" if code == 38 else "bg", codes)
        else:
            _coloured(changed, code)
    return changed


def _coloured(style: dict[str, str], code: int) -> None:
    for ground, first in (("fg", 30), ("bg", 40)):
        if first <= code < first + 8:
            style[ground] = f"{ground}-{code - first}"
        elif first + 60 <= code < first + 68:
            style[ground] = f"{ground}-{code - first - 52}"
        elif code == first + 9:
            style.pop(ground, None)


def _extended(style: dict[str, str], ground: str, codes: list[int]) -> None:
    """A colour of 256 or of 16 million, as the nearest of the sixteen."""
    kind = codes.pop(0) if codes else 0
    if kind == 5 and codes:
        number = codes.pop(0)
        style[ground] = f"{ground}-{number if number < 16 else _nearest(*_of_256(number))}"
    elif kind == 2 and len(codes) >= 3:
        style[ground] = f"{ground}-{_nearest(*(codes.pop(0) for _ in range(3)))}"


def _of_256(number: int) -> tuple[int, int, int]:
    if number >= 232:
        return (8 + 10 * (number - 232),) * 3
    cube = number - 16
    red, green, blue = cube // 36, cube // 6 % 6, cube % 6
    return tuple(55 + 40 * part if part else 0 for part in (red, green, blue))  # type: ignore[return-value]  # three


def _nearest(red: int, green: int, blue: int) -> int:
    """One of the sixteen colours by which of the three are strong, bright if the strongest is."""
    strongest = max(red, green, blue)
    if strongest < 48:
        return 0
    if max(red, green, blue) - min(red, green, blue) < 32:
        return 8 if strongest < 128 else 7 if strongest < 224 else 15
    bits = sum(1 << place for place, part in enumerate((red, green, blue)) if part > strongest / 2)
    return bits + (8 if strongest > 200 else 0)
