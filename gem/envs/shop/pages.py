"""The pages of the shop as a list of pieces, and the three ways in which an agent reads them.

`html` is a small document, `text` the words with [SEP] between them, `text_rich` one piece to a line with
[button] around what can be clicked, as WebShop's modes of the same names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Literal, NamedTuple, get_args

from gem.envs.shop.product import Product

Mode = Literal["html", "text", "text_rich"]
MODES: tuple[str, ...] = get_args(Mode)

PER_PAGE = 10
BACK, NEXT, PREVIOUS, BUY = "Back to Search", "Next >", "< Prev", "Buy Now"
SHEETS = ("Description", "Features", "Reviews")


class Piece(NamedTuple):
    """A piece of a page."""

    kind: Literal["heading", "text", "button", "link", "option", "field"]
    text: str
    marked: bool = False
    """A product that was opened before, or a value that is chosen."""
    note: str = ""
    """What stands beside a link."""
    group: str = ""
    """The option that a value belongs to."""


def search_page() -> list[Piece]:
    """Where every visit begins."""
    return [Piece("field", "Search")]


def results_page(found: Sequence[Product], number: int, total: int, opened: Sequence[str]) -> Iterator[Piece]:
    """Page `number`, from 1, of what was found."""
    yield Piece("button", BACK)
    yield Piece("text", f"Page {number} (total results: {total})")
    if number > 1:
        yield Piece("button", PREVIOUS)
    if number * PER_PAGE < total:
        yield Piece("button", NEXT)
    for product in found:
        yield Piece("link", product.key, product.key in opened, f"{product.title} · {dollars(product.price)}")


def item_page(product: Product, chosen: Mapping[str, str]) -> Iterator[Piece]:
    """A product, with the options chosen so far."""
    yield Piece("button", BACK)
    yield Piece("button", PREVIOUS)
    for name, values in product.options.items():
        yield Piece("text", name)
        for value in values:
            yield Piece("option", value, chosen.get(name) == value, group=name)
    yield Piece("heading", product.title)
    yield Piece("text", f"Price: {dollars(product.price)}")
    yield Piece("text", f"Rating: {product.rating:g}")
    for sheet in SHEETS:
        yield Piece("button", sheet)
    yield Piece("button", BUY)


def sheet_page(product: Product, sheet: str) -> Iterator[Piece]:
    """What is told of a product."""
    yield Piece("button", BACK)
    yield Piece("button", PREVIOUS)
    lines = {"Description": [product.description], "Features": product.bullets, "Reviews": product.reviews}[sheet]
    for line in lines or ["Nothing yet."]:
        yield Piece("text", line)


def dollars(price: float) -> str:
    """A price as pages write it."""
    return f"${price:,.2f}"


def render(pieces: Sequence[Piece], instruction: str, mode: Mode) -> str:
    """The page as an agent reads it, what is asked for first."""
    if mode == "text":
        words = ["Instruction:", instruction, *(word for piece in pieces for word in _words(piece))]
        return " [SEP] ".join(words)
    lines = [_rich(piece) for piece in pieces] if mode == "text_rich" else [_tag(piece) for piece in pieces]
    if mode == "text_rich":
        return "\n".join([f"Instruction: {instruction}", *lines])
    return "\n".join(["<body>", f"<h4>Instruction: {escape(instruction)}</h4>", *lines, "</body>"])


def _words(piece: Piece) -> list[str]:
    return [piece.text, piece.note] if piece.note else [piece.text]


def _rich(piece: Piece) -> str:
    if piece.kind in ("heading", "text"):
        return piece.text
    name = "clicked button" if piece.marked else "button"
    after = f"\n{piece.note}" if piece.note else ""
    return f"[{name}] {piece.text} [{name}_]{after}"


def _tag(piece: Piece) -> str:
    text = escape(piece.text)
    marked = " checked" if piece.marked else ""
    match piece.kind:
        case "heading":
            return f"<h2>{text}</h2>"
        case "text":
            return f"<p>{text}</p>"
        case "field":
            return f'<form><input id="search_input" type="text"><button class="btn">{text}</button></form>'
        case "link":
            return f'<a class="product-link">{text}</a> <h4>{escape(piece.note)}</h4>'
        case "option":
            return f'<label><input type="radio" name="{escape(piece.group)}" value="{text}"{marked}>{text}</label>'
        case _:
            return f'<button class="btn">{text}</button>'
