"""Cubes that a text describes, as faces with colours, so that a page can draw them.

Two texts are read: the net of a Rubik's cube in letters, and a list of lines such as "- a pink top side".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypedDict

FACES = ("top", "left", "front", "right", "back", "bottom")
MAX_SIZE = 7
_LETTERS = {"W": "white", "Y": "yellow", "R": "red", "O": "orange", "G": "green", "B": "blue"}
_SIDE = re.compile(r"^- an? ([a-z]{3,12}) (top|left|front|right|back|bottom) side$", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*((?:[WYROGB][ \t]+)*[WYROGB])[ \t]*$", re.MULTILINE)


class Cube(TypedDict):
    """The colours of all stickers by face; a row of a face is a list of names of colours."""

    faces: dict[str, list[list[str]]]


def read_cube(text: str) -> Cube | None:
    """The cube that a text describes; None if it describes none."""
    sides = {side: [[colour]] for colour, side in _SIDE.findall(text)}
    if len(sides) == len(FACES):
        return Cube(faces=sides)
    return _read_net([[_LETTERS[letter] for letter in row.split()] for row in _ROW.findall(text)])


def _read_net(rows: Sequence[list[str]]) -> Cube | None:
    """The faces of a net: the top one, then left, front, right and back beside each other, then the bottom one."""
    size = len(rows) // 3
    widths = [len(row) for row in rows]
    if not 2 <= size <= MAX_SIZE or widths != [size] * size + [4 * size] * size + [size] * size:
        return None
    middle = rows[size : 2 * size]
    beside = {
        face: [row[place * size : (place + 1) * size] for row in middle]
        for place, face in enumerate(("left", "front", "right", "back"))
    }
    return Cube(faces={"top": list(rows[:size]), **beside, "bottom": list(rows[2 * size :])})
