"""Every pair of colours that the interface puts on each other can be told apart, by day and by night (WCAG 2.2)."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

TOKENS = (Path(__file__).parents[3] / "static" / "css" / "tokens.css").read_text()

Oklch = tuple[float, float, float]

TEXT = {
    "ink": "paper surface sunk raised hover accent-soft win-soft loss-soft warn-soft cell-hint cell-mark cell-given "
    "cell-open cell-bad",
    "muted": "paper surface sunk raised hover accent-soft cell-ground",
    "accent": "paper surface sunk accent-soft warn-soft cell-open",
    "accent-strong": "accent-soft",
    "on-accent": "accent accent-strong",
    "win": "surface hover sunk win-soft",
    "loss": "paper surface hover loss-soft",
    "warn": "surface sunk warn-soft",
    "live": "surface live-soft",
    "surface": "win",
    "paper": "ink",
    "on-tone": "cell-hit cell-near cell-miss",
    **{f"ansi-{number}": "sunk" for number in range(16)},
}
MARKS = {
    "edge": "surface paper",
    "faint": "surface",
    "focus": "surface paper cell-hidden",
    "accent": "cell-hidden cell-floor",
    "live": "cell-floor",
    "cell-wall": "cell-floor",
    "cell-hidden-edge": "cell-open",
    "piece-shade": "cell-floor",
    **{f"c{number}": "surface" for number in range(1, 9)},
}
PAIRS = [
    (ink, ground, needed)
    for grounds_of, needed in ((TEXT, 4.5), (MARKS, 3.0))
    for ink, grounds in grounds_of.items()
    for ground in grounds.split()
]


def colours() -> dict[str, tuple[Oklch, Oklch]]:
    """Each colour by day and by night."""

    def read(text: str) -> Oklch:
        lightness, chroma, hue = (float(part) for part in text.split())
        return lightness, chroma, hue

    themed = re.findall(r"--([\w-]+): light-dark\(oklch\(([\d. ]+)\), oklch\(([\d. ]+)\)\)", TOKENS)
    constant = re.findall(r"--([\w-]+): oklch\(([\d. ]+)\);", TOKENS)
    return {name: (read(day), read(night)) for name, day, night in themed} | {
        name: (read(both), read(both)) for name, both in constant
    }


def luminance(colour: Oklch) -> float:
    """Relative luminance (0 to 1) of a colour, clipped to what a screen shows."""
    lightness, chroma, hue = colour
    a, b = chroma * math.cos(math.radians(hue)), chroma * math.sin(math.radians(hue))
    long = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3
    middle = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3
    short = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3
    red = 4.0767416621 * long - 3.3077115913 * middle + 0.2309699292 * short
    green = -1.2684380046 * long + 2.6097574011 * middle - 0.3413193965 * short
    blue = -0.0041960863 * long - 0.7034186147 * middle + 1.7076147010 * short
    red, green, blue = (min(1.0, max(0.0, channel)) for channel in (red, green, blue))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Oklch, other: Oklch) -> float:
    """From 1 (the same) to 21 (black on white)."""
    low, high = sorted((luminance(one) + 0.05, luminance(other) + 0.05))
    return high / low


@pytest.mark.parametrize("theme", ["day", "night"])
@pytest.mark.parametrize(("ink", "ground", "needed"), PAIRS)
def test_ink_stands_out_from_its_ground(ink: str, ground: str, needed: float, theme: str) -> None:
    index = ["day", "night"].index(theme)
    found = colours()
    assert contrast(found[ink][index], found[ground][index]) >= needed


def test_black_on_white_has_the_greatest_contrast() -> None:
    assert contrast((0.0, 0.0, 0.0), (1.0, 0.0, 0.0)) == pytest.approx(21.0, abs=0.01)
