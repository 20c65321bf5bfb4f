"""Drawings of cubes: what was read is drawn, and nothing else."""

from __future__ import annotations

import re

from apps.episodes.cubes import draw_cube
from gem.views.cube import Cube


def test_every_sticker_is_drawn_once_and_those_in_front_twice() -> None:
    faces = {name: [["red", "blue"], ["red", "red"]] for name in ("top", "left", "front", "right", "back", "bottom")}
    svg = draw_cube(Cube(faces=faces))
    assert len(re.findall("<polygon", svg)) == 4 * (6 + 3)
    assert svg.count('data-colour="blue"') == 9
    assert 'role="img" aria-label="A cube. top: red blue, red red;' in svg


def test_a_colour_is_never_markup() -> None:
    faces = {name: [['"><script>']] for name in ("top", "left", "front", "right", "back", "bottom")}
    assert "<script>" not in draw_cube(Cube(faces=faces))
