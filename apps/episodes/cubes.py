"""Drawings of cubes: three faces as one sees them, and all six laid out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import cos, radians, sin

from django.utils.safestring import SafeString, mark_safe

from gem.views.cube import Cube

EDGE = 60.0
"""The length of an edge of the cube in the drawing."""
SIDE = 30.0
"""The length of a face that is laid out."""
_ACROSS, _UP = cos(radians(30)), sin(radians(30))
Vector = tuple[float, float]
_VISIBLE: Mapping[str, tuple[Vector, Vector, Vector]] = {
    "top": ((_ACROSS, 0.0), (_ACROSS, _UP), (-_ACROSS, _UP)),
    "front": ((0.0, _UP), (_ACROSS, _UP), (0.0, 1.0)),
    "right": ((_ACROSS, 2 * _UP), (_ACROSS, -_UP), (0.0, 1.0)),
}
"""Of each visible face, in edges: its corner, and the directions of its columns and rows."""
_LAID_OUT = {"top": (1, 0), "left": (0, 1), "front": (1, 1), "right": (2, 1), "back": (3, 1), "bottom": (1, 2)}


def draw_cube(cube: Cube) -> SafeString:
    """An SVG of the cube; every sticker has the first letter of its colour, and its name as a title."""
    faces = cube["faces"]
    shapes = [*_solid(faces), *_net(faces)]
    width, height = 2 * _ACROSS * EDGE + 24 + 4 * SIDE, max(2 * EDGE, 3 * SIDE) + 4
    label = "; ".join(f"{name}: {_in_words(rows)}" for name, rows in faces.items())
    return mark_safe(  # noqa: S308 (every value is a number or was escaped)
        f'<svg class="cube" viewBox="-2 -2 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="{escape(f"A cube. {label}")}">{"".join(shapes)}</svg>'
    )


def _in_words(rows: Sequence[Sequence[str]]) -> str:
    return ", ".join(" ".join(row) for row in rows)


def _solid(faces: Mapping[str, list[list[str]]]) -> Iterator[str]:
    for name, (corner, across, down) in _VISIBLE.items():
        rows = faces[name]
        step = EDGE / len(rows)
        for row, colours in enumerate(rows):
            for column, colour in enumerate(colours):
                x = corner[0] * EDGE + step * (column * across[0] + row * down[0])
                y = corner[1] * EDGE + step * (column * across[1] + row * down[1])
                corners = [
                    (x, y),
                    (x + step * across[0], y + step * across[1]),
                    (x + step * (across[0] + down[0]), y + step * (across[1] + down[1])),
                    (x + step * down[0], y + step * down[1]),
                ]
                yield _sticker(colour, corners, step)


def _net(faces: Mapping[str, list[list[str]]]) -> Iterator[str]:
    left = 2 * _ACROSS * EDGE + 20
    for name, (over, under) in _LAID_OUT.items():
        rows = faces[name]
        step = SIDE / len(rows)
        for row, colours in enumerate(rows):
            for column, colour in enumerate(colours):
                x, y = left + over * SIDE + column * step, under * SIDE + row * step
                yield _sticker(colour, [(x, y), (x + step, y), (x + step, y + step), (x, y + step)], step)


def _sticker(colour: str, corners: Sequence[Vector], size: float) -> str:
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
    x, y = (sum(corner[axis] for corner in corners) / 4 for axis in (0, 1))
    name = escape(colour)
    return (
        f'<g data-colour="{name}"><title>{name}</title><polygon points="{points}" fill="{name}"/>'
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{min(size * 0.5, 9):.1f}">{name[:1].upper()}</text></g>'
    )
