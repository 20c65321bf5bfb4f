"""Problems of geometry with a drawing, which has the numbers. Pillow draws them as small PNG files with few colours."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from typing import Any

from gem.rng import SplitMix64, choice, randint
from tools.samples.problem import Made, root

SIZE = (320, 240)
INK, LINE, MARK = 0, 1, 2
COLORS = (24, 28, 36, 38, 84, 150, 186, 60, 40, 255, 255, 255)
"""Ink, lines, marks and paper, as red, green, blue."""
PAPER = 3
Point = tuple[float, float]


class Sheet:
    """A drawing under way."""

    def __init__(self) -> None:
        image: Any = import_module("PIL.Image")
        font: Any = import_module("PIL.ImageFont")
        self.image = image.new("P", SIZE, PAPER)
        self.image.putpalette(COLORS)
        self.draw = import_module("PIL.ImageDraw").Draw(self.image)
        self.draw.fontmode = "1"
        self.font = font.load_default(size=15)

    def lines(self, points: Sequence[Point], color: int = LINE) -> None:
        """A closed line through the points."""
        self.draw.line([*points, points[0]], fill=color, width=2)

    def line(self, one: Point, other: Point, color: int = LINE) -> None:
        self.draw.line([one, other], fill=color, width=2)

    def circle(self, center: Point, radius: float, color: int = LINE) -> None:
        x, y = center
        self.draw.ellipse([x - radius, y - radius, x + radius, y + radius], outline=color, width=2)

    def text(self, at: Point, text: str, color: int = INK) -> None:
        """Centred at a point."""
        self.draw.text(at, text, fill=color, font=self.font, anchor="mm")

    def corners(self, points: Sequence[Point], names: str) -> None:
        """Letters beside the corners, away from the middle."""
        middle = (sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points))
        for (x, y), name in zip(points, names, strict=True):
            far = math.hypot(x - middle[0], y - middle[1]) or 1
            self.text((x + (x - middle[0]) / far * 14, y + (y - middle[1]) / far * 14), name)

    def side(self, one: Point, other: Point, text: str, inside: Point) -> None:
        """A number beside the middle of a side, on the other side than `inside`."""
        x, y = (one[0] + other[0]) / 2, (one[1] + other[1]) / 2
        far = math.hypot(x - inside[0], y - inside[1]) or 1
        self.text((x + (x - inside[0]) / far * 16, y + (y - inside[1]) / far * 13), text, MARK)

    def right_angle(self, corner: Point, one: Point, other: Point) -> None:
        a, b = _toward(corner, one, 11), _toward(corner, other, 11)
        both = (a[0] + b[0] - corner[0], a[1] + b[1] - corner[1])
        self.draw.line([a, both, b], fill=MARK, width=1)

    def angle(self, corner: Point, one: Point, other: Point, text: str) -> None:
        """A number inside an angle."""
        a, b = _toward(corner, one, 1), _toward(corner, other, 1)
        middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
        self.text(_toward(corner, middle, 34), text, MARK)

    def address(self) -> str:
        """The drawing as a `data:` address."""
        buffer = io.BytesIO()
        self.image.save(buffer, "PNG", optimize=True, bits=2)
        return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode()}"


def _toward(start: Point, end: Point, length: float) -> Point:
    far = math.hypot(end[0] - start[0], end[1] - start[1]) or 1
    return start[0] + (end[0] - start[0]) / far * length, start[1] + (end[1] - start[1]) / far * length


def right_triangle(rng: SplitMix64) -> tuple[Made, str]:
    a, b = randint(rng, 3, 12), randint(rng, 3, 12)
    scale = 150 / max(a, b)
    c = (160 - a * scale / 2, 120 + b * scale / 2)
    points = [c, (c[0] + a * scale, c[1]), (c[0], c[1] - b * scale)]
    sheet, inside = Sheet(), (c[0] + a * scale / 3, c[1] - b * scale / 3)
    sheet.lines(points)
    sheet.corners(points, "CBA")
    sheet.right_angle(*points)
    sheet.side(points[0], points[1], str(a), inside)
    sheet.side(points[0], points[2], str(b), inside)
    sheet.side(points[1], points[2], "x", inside)
    return Made(
        "Find $x$, the length of $AB$, in the triangle with a right angle at $C$.", root(a * a + b * b)
    ), sheet.address()


def third_angle(rng: SplitMix64) -> tuple[Made, str]:
    a, b = randint(rng, 35, 80), randint(rng, 35, 75)
    width = 200.0
    height = width / (1 / math.tan(math.radians(a)) + 1 / math.tan(math.radians(b)))
    scale = min(1.0, 180 / height)
    left = 160 - width * scale / 2
    base = 120 + height * scale / 2
    points = [
        (left, base),
        (left + width * scale, base),
        (left + height * scale / math.tan(math.radians(a)), base - height * scale),
    ]
    sheet = Sheet()
    sheet.lines(points)
    sheet.corners(points, "ABC")
    sheet.angle(points[0], points[1], points[2], f"{a}°")
    sheet.angle(points[1], points[0], points[2], f"{b}°")
    sheet.angle(points[2], points[0], points[1], "x°")
    return Made("Find $x$, the angle at $C$ in degrees.", 180 - a - b), sheet.address()


def rectangle_area(rng: SplitMix64) -> tuple[Made, str]:
    short, long = randint(rng, 3, 9), randint(rng, 10, 20)
    points = _box(long, short)
    sheet = Sheet()
    sheet.lines(points)
    sheet.corners(points, "ABCD")
    sheet.side(points[0], points[1], str(long), (160, 120))
    asked = choice(rng, ("area", "perimeter", "diagonal"))
    if asked == "diagonal":
        sheet.line(points[0], points[2], MARK)
        answer: int | str = root(short * short + long * long)
    else:
        answer = short * long if asked == "area" else 2 * (short + long)
    sheet.side(points[1], points[2], str(short), (160, 120))
    return Made(f"$ABCD$ is a rectangle. Find its {asked}.", answer), sheet.address()


def _box(long: int, short: int) -> list[Point]:
    scale = 220 / long
    x, y = 160 - long * scale / 2, 120 + short * scale / 2
    return [(x, y), (x + long * scale, y), (x + long * scale, y - short * scale), (x, y - short * scale)]


def circle_measure(rng: SplitMix64) -> tuple[Made, str]:
    radius, asked = randint(rng, 2, 15), choice(rng, ("area", "circumference"))
    sheet = Sheet()
    sheet.circle((160, 120), 85)
    sheet.circle((160, 120), 2, INK)
    sheet.text((150, 130), "O")
    sheet.line((160, 120), (245, 120), MARK)
    sheet.text((202, 108), str(radius), MARK)
    answer = f"{radius * radius}\\pi" if asked == "area" else f"{2 * radius}\\pi"
    return Made(
        f"Find the {asked} of the circle with centre $O$. Leave $\\pi$ in your answer.", answer
    ), sheet.address()


def inscribed_angle(rng: SplitMix64) -> tuple[Made, str]:
    center = 2 * randint(rng, 25, 70)
    a, b = _on_circle(math.radians(90 + center / 2)), _on_circle(math.radians(90 - center / 2))
    p = _on_circle(math.radians(270 + randint(rng, -20, 20)))
    sheet = Sheet()
    sheet.circle((160, 120), 90)
    for one, other in ((a, p), (b, p), ((160, 120), a), ((160, 120), b)):
        sheet.line(one, other)
    sheet.corners([a, b, p], "ABP")
    sheet.text((160, 106), "O")
    sheet.angle((160, 120), a, b, f"{center}°")
    sheet.angle(p, a, b, "x°")
    return Made("$O$ is the centre of the circle. Find $x$, the angle at $P$ in degrees.", center // 2), sheet.address()


def _on_circle(angle: float) -> Point:
    return 160 + 90 * math.cos(angle), 120 + 90 * math.sin(angle)


def parallel_lines(rng: SplitMix64) -> tuple[Made, str]:
    angle = randint(rng, 48, 78)
    slope = math.radians(angle)
    sheet = Sheet()
    sheet.line((40, 80), (280, 80))
    sheet.line((40, 160), (280, 160))
    upper, lower = (160 + 40 / math.tan(slope), 80.0), (160 - 40 / math.tan(slope), 160.0)
    sheet.line(_toward(upper, lower, -45), _toward(lower, upper, -45), MARK)
    sheet.text((294, 80), "g")
    sheet.text((294, 160), "h")
    sheet.text((upper[0] + 27, upper[1] - 13), f"{angle}°", MARK)
    same = bool(randint(rng, 0, 1))
    sheet.text((lower[0] + (27 if same else -27), lower[1] - 14), "x°", MARK)
    return Made("The lines $g$ and $h$ are parallel. Find $x$.", angle if same else 180 - angle), sheet.address()


def similar_triangles(rng: SplitMix64) -> tuple[Made, str]:
    upper, lower, base = randint(rng, 2, 6), randint(rng, 2, 6), randint(rng, 6, 15)
    a, b, c = (160.0, 25.0), (60.0, 205.0), (260.0, 205.0)
    share = upper / (upper + lower)
    d = (a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share)
    e = (a[0] + (c[0] - a[0]) * share, a[1] + (c[1] - a[1]) * share)
    sheet = Sheet()
    sheet.lines([a, b, c])
    sheet.line(d, e)
    sheet.corners([a, b, c], "ABC")
    sheet.text((d[0] - 14, d[1]), "D")
    sheet.text((e[0] + 14, e[1]), "E")
    inside = (160.0, 130.0)
    sheet.side(a, d, str(upper), inside)
    sheet.side(d, b, str(lower), inside)
    sheet.side(b, c, str(base), inside)
    sheet.text(((d[0] + e[0]) / 2, d[1] - 11), "x", MARK)
    made = Made("$DE$ is parallel to $BC$. Find $x$, the length of $DE$.", Fraction(base * upper, upper + lower))
    return made, sheet.address()


ALL = (
    right_triangle, third_angle, rectangle_area, circle_measure, inscribed_angle, parallel_lines, similar_triangles,
)  # fmt: skip
