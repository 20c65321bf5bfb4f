"""The pages of the shop, as lists of pieces, and the three modes in which an agent can read them.

The modes are those of WebShop. `html` is a small document. `text` is the words of the page with [SEP] between them.
`text_rich` has one piece on each line, with [button] around what can be clicked.
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
    """Whether this product was opened before, or this value is chosen."""
    note: str = ""
    """Text next to a link."""
    group: str = ""
    """The name of the option to which a value belongs."""


def search_page() -> list[Piece]:
    """The first page of a visit."""
    return [Piece("field", "Search")]


def results_page(products: Sequence[Product], number: int, total: int, opened_keys: Sequence[str]) -> Iterator[Piece]:
    """Page `number` of the results, counted from 1, with its products."""
    yield Piece("button", BACK)
    yield Piece("text", f"Page {number} (total results: {total})")
    if number > 1:
        yield Piece("button", PREVIOUS)
    if number * PER_PAGE < total:
        yield Piece("button", NEXT)
    for product in products:
        yield Piece("link", product.key, product.key in opened_keys, f"{product.title} · {dollars(product.price)}")


def item_page(product: Product, chosen_options: Mapping[str, str]) -> Iterator[Piece]:
    """The page of a product, with the options chosen so far."""
    yield Piece("button", BACK)
    yield Piece("button", PREVIOUS)
    for name, values in product.options.items():
        yield Piece("text", name)
        for value in values:
            yield Piece("option", value, chosen_options.get(name) == value, group=name)
    yield Piece("heading", product.title)
    yield Piece("text", f"Price: {dollars(product.price)}")
    yield Piece("text", f"Rating: {product.rating:g}")
    for sheet in SHEETS:
        yield Piece("button", sheet)
    yield Piece("button", BUY)


def sheet_page(product: Product, sheet: str) -> Iterator[Piece]:
    """The description, the features or the reviews of a product."""
    yield Piece("button", BACK)
    yield Piece("button", PREVIOUS)
    lines = {"Description": [product.description], "Features": product.bullets, "Reviews": product.reviews}[sheet]
    for line in lines or ["Nothing yet."]:
        yield Piece("text", line)


def dollars(price: float) -> str:
    """A price as it is written on a page."""
    return f"${price:,.2f}"


def render(pieces: Sequence[Piece], instruction: str, mode: Mode) -> str:
    """The page as an agent reads it, beginning with the customer's request."""
    if mode == "text":
        words = ["Instruction:", instruction, *(word for piece in pieces for word in _piece_words(piece))]
        return " [SEP] ".join(words)
    lines = (
        [_render_rich(piece) for piece in pieces] if mode == "text_rich" else [_render_html(piece) for piece in pieces]
    )
    if mode == "text_rich":
        return "\n".join([f"Instruction: {instruction}", *lines])
    return "\n".join(["<body>", f"<h4>Instruction: {escape(instruction)}</h4>", *lines, "</body>"])


def _piece_words(piece: Piece) -> list[str]:
    return [piece.text, piece.note] if piece.note else [piece.text]


def _render_rich(piece: Piece) -> str:
    if piece.kind in ("heading", "text"):
        return piece.text
    tag = "clicked button" if piece.marked else "button"
    note = f"\n{piece.note}" if piece.note else ""
    return f"[{tag}] {piece.text} [{tag}_]{note}"


def _render_html(piece: Piece) -> str:
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
