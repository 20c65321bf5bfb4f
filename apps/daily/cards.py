"""Cards to share a result: as SVG for the page, as PNG for previews of links, and as text. They give nothing away."""

from __future__ import annotations

import functools
import io
from dataclasses import dataclass
from datetime import date
from hashlib import sha256
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.template.loader import render_to_string
from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 1200, 630
"""The size that previews of links expect, in pixels."""
PAPER, INK, MUTED, WIN, MISS = "#fcfbf9", "#16201d", "#59635f", "#0b6b45", "#b9c0bc"
FONT = Path("fonts") / "inter-latin-wght-normal.woff2"
SECONDS = 3600
MOST_DOTS = 40


@dataclass(frozen=True, slots=True)
class Card:
    """What is on a card."""

    number: int
    day: date
    env_id: str
    solved: bool
    turns: int
    most_turns: int
    beaten: str
    """`Better than 73 % of people and 4 of 6 agents`; empty while nobody else has finished."""
    days: str
    """`10 solved of the last 12 days`; empty of guests."""
    address: str

    @property
    def title(self) -> str:
        """`gemweb daily 326`."""
        return f"gemweb daily {self.number}"

    @property
    def game(self) -> str:
        """`Wordle, easy`."""
        name, _, version = self.env_id.partition(":")[2].partition("-v")
        return ", ".join(filter(None, (name, version.partition("-")[2])))

    @property
    def result(self) -> str:
        """`4 of 6 turns`, or `not solved in 6 turns`."""
        return f"{self.turns} of {self.most_turns} turns" if self.solved else f"not solved in {self.turns} turns"

    @property
    def sentence(self) -> str:
        """The result and whom it beats, in one line."""
        return f"{self.game}: {self.result}. {self.beaten}{'.' if self.beaten else ''}".strip()

    @property
    def text(self) -> str:
        """What one pastes into a message: a mark for each turn, full for the one that solved it."""
        dots = "○" * (self.turns - self.solved) + "●" * self.solved
        marks = dots if len(dots) <= MOST_DOTS else ""
        lines = (f"{self.title}, {self.game}, {self.result}", marks, self.beaten, self.address)
        return "\n".join(filter(None, lines))


def as_svg(card: Card) -> str:
    """The card as an SVG document."""
    return render_to_string("daily/card.svg", {"card": card, "dots": _dots(card)})


def as_png(card: Card) -> bytes:
    """The card as a PNG file. It is kept for an hour."""
    said = "\n".join((card.text, card.days, str(card.most_turns)))
    key = f"daily-card:{sha256(said.encode()).hexdigest()}"
    found: bytes | None = cache.get(key)
    if found is None:
        found = _draw(card)
        cache.set(key, found, SECONDS)
    return found


def _dots(card: Card) -> list[tuple[int, bool]]:
    """The place and the fill of a mark for each turn, in a row of twenty places."""
    shown = min(card.turns, 20)
    return [(place, card.solved and place == shown - 1) for place in range(shown)]


def _draw(card: Card) -> bytes:
    image = Image.new("RGB", (WIDTH, HEIGHT), PAPER)
    pen = ImageDraw.Draw(image)
    pen.rectangle((0, 0, WIDTH, 12), fill=WIN if card.solved else MISS)
    pen.text((80, 70), card.title, INK, _font(44, 640))
    pen.text((WIDTH - 80, 78), f"{card.day:%d %b %Y}".lstrip("0"), MUTED, _font(34, 400), anchor="ra")
    pen.text((80, 165), str(card.turns) if card.solved else "not solved", INK, _font(150 if card.solved else 96, 680))
    if card.solved:
        right = 80 + pen.textlength(str(card.turns), _font(150, 680)) + 24
        pen.text((right, 255), f"of {card.most_turns} turns", MUTED, _font(44, 400))
    pen.text((80, 350), card.game, MUTED, _font(40, 400))
    for place, is_full in _dots(card):
        box = (80 + place * 46, 420, 80 + place * 46 + 34, 454)
        pen.ellipse(box, fill=WIN if is_full else None, outline=WIN if is_full else MISS, width=4)
    pen.text((80, 490), card.beaten, INK, _font(42, 560))
    pen.text((80, 562), card.days, MUTED, _font(30, 400))
    pen.text((WIDTH - 80, 562), card.address.partition("://")[2], MUTED, _font(30, 400), anchor="ra")
    out = io.BytesIO()
    image.save(out, "PNG", optimize=True)
    return out.getvalue()


@functools.cache
def _font(size: int, weight: int) -> ImageFont.FreeTypeFont:
    font = ImageFont.truetype(settings.BASE_DIR / "static" / FONT, size)
    font.set_variation_by_axes([weight])
    return font
