"""Cubes in texts of ReasoningGym, which pages draw."""

from __future__ import annotations

import pytest

from gem.views.cube import read_cube

NET = """You see a size 2 Rubik's cube:

      Y  Y
      B  R
 B  W  R  G  Y  G  O  O
 R  W  R  G  Y  O  B  B
      G  O
      W  W

Please solve it: U U."""


def test_the_net_of_a_cube_is_six_faces() -> None:
    cube = read_cube(NET)
    assert cube is not None
    assert cube["faces"]["top"] == [["yellow", "yellow"], ["blue", "red"]]
    assert cube["faces"]["left"] == [["blue", "white"], ["red", "white"]]
    assert cube["faces"]["back"] == [["orange", "orange"], ["blue", "blue"]]
    assert cube["faces"]["bottom"] == [["green", "orange"], ["white", "white"]]


def test_a_cube_in_words_has_one_sticker_on_each_face() -> None:
    sides = ("top", "right", "front", "left", "back", "bottom")
    cube = read_cube("A cube has:\n" + "\n".join(f"- a{'n' * (side == 'top')} orange {side} side" for side in sides))
    assert cube is not None
    assert cube["faces"] == {side: [["orange"]] for side in sides}


@pytest.mark.parametrize("text", ["", "Y\nY\nY", "- a pink top side", NET.replace("G  O\n", "G\n"), "W " * 50_000])
def test_other_texts_have_no_cube(text: str) -> None:
    assert read_cube(text) is None
